// Sluice's own operators: Attention, and Reorder between equal layouts.
#include <cmath>
#include <cstring>
#include <limits>

#include "reference/families.h"
#include "reference/kernels/sequence/attention.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

/// q [B,Hq,S,D], k [B,Hk,T,D], v [B,Hk,T,Dv], past_k [B,Hk,P,D], past_v [B,Hk,P,Dv].
Status check_shapes(const Call& call) {
  for (const int input : {0, 1, 2}) {
    if (input_dims(call, input).size() != 4) return refuse(call, "q, k, v must have rank 4");
  }
  const Dims q = input_dims(call, 0);
  const Dims k = input_dims(call, 1);
  const Dims v = input_dims(call, 2);
  if (q[0] != k[0] || q[3] != k[3] || k[0] != v[0] || k[1] != v[1] || k[2] != v[2] || k[1] < 1 ||
      q[1] % k[1] != 0) {
    return refuse(call, "q, k and v do not fit");
  }
  if (call.has_input(4) != call.has_input(5)) return refuse(call, "half of the past is missing");
  if (!call.has_input(4)) return plugin::ok();
  const Dims past = input_dims(call, 4);
  if (past.size() != 4) return refuse(call, "past_k must have rank 4");
  const std::array past_k = {k[0], k[1], past[2], k[3]};
  const std::array past_v = {v[0], v[1], past[2], v[3]};
  const Status status = check_dims(call, call.input(4), past_k, "past_k");
  return status.is_ok() ? check_dims(call, call.input(5), past_v, "past_v") : status;
}

/// Floats of one type; `keep` is of bools.
Status check_elements(const Call& call) {
  const sluice_element_type type = call.input(0).element_type;
  if (!contains(kFloats, type)) return refuse(call, "it takes floats");
  bool fits = call.output(0).element_type == type;
  for (int i = 0; i < call.num_inputs(); ++i) {
    const sluice_element_type wanted = i == 6 ? plugin::kBool : type;
    fits = fits && (!call.has_input(i) || call.input(i).element_type == wanted);
  }
  return fits ? plugin::ok() : refuse(call, "its operands have element types that do not fit");
}

void append_past(const Call& call, std::int64_t past, AttentionProblem* problem) {
  const std::int64_t outer = problem->batch * problem->kv_heads;
  problem->k = concat_middle(read_doubles(call.input(4)), problem->k, outer, past * problem->size,
                             problem->keys * problem->size);
  problem->v = concat_middle(read_doubles(call.input(5)), problem->v, outer, past * problem->v_size,
                             problem->keys * problem->v_size);
  problem->keys += past;
}

/// Strides over an input that broadcasts to [B, Hq, S, P + T]; zeros if it is absent.
Status read_strides(const Call& call, int input, const AttentionProblem& problem,
                    std::vector<std::int64_t>* strides) {
  strides->assign(4, 0);
  if (!call.has_input(input)) return plugin::ok();
  const std::array target = {problem.batch, problem.q_heads, problem.queries, problem.keys};
  std::vector<std::int64_t> met;
  const Status status = broadcast_dims(input_dims(call, input), target, &met);
  if (!status.is_ok() || !std::ranges::equal(met, target)) {
    return refuse(call, "the mask does not broadcast to " + plugin::to_string(target));
  }
  *strides = broadcast_strides(input_dims(call, input), target);
  return plugin::ok();
}

std::size_t place(const std::vector<std::int64_t>& strides, std::int64_t b, std::int64_t head,
                  std::int64_t query, std::int64_t key) {
  return index(b * strides[0] + head * strides[1] + query * strides[2] + key * strides[3]);
}

/// What is added to scores and what replaces them.
struct FusedMasks {
  std::vector<double> added, kept;
  std::vector<std::int64_t> added_strides, kept_strides;
};

Status add_masks(const Call& call, std::int64_t past, FusedMasks* masks,
                 AttentionProblem* problem) {
  masks->added = read_doubles(call.input(3));
  Status status = read_strides(call, 3, *problem, &masks->added_strides);
  if (status.is_ok() && call.has_input(6)) {
    masks->kept = read_doubles(call.input(6));
    status = read_strides(call, 6, *problem, &masks->kept_strides);
  }
  if (!status.is_ok()) return status;
  const bool is_causal = call.attributes().get_int("is_causal") != 0;
  // `masks` is the caller's and outlives the problem.
  problem->bias = [masks, is_causal, past](auto b, auto head, auto query, auto key) {
    if (is_causal && key > past + query) return kNever;
    if (masks->added.empty()) return 0.0;
    return masks->added[place(masks->added_strides, b, head, query, key)];
  };
  if (!masks->kept.empty()) {
    problem->keep = [masks](auto b, auto head, auto query, auto key) {
      return masks->kept[place(masks->kept_strides, b, head, query, key)] != 0;
    };
  }
  problem->hidden = call.attributes().get_float("hidden");
  problem->zero_rows = static_cast<ZeroRows>(call.attributes().get_int("zero_rows", 1));
  return plugin::ok();
}

Status run_fused_attention(const Call& call) {
  Status status = check_shapes(call);
  if (status.is_ok()) status = check_elements(call);
  if (!status.is_ok()) return status;
  const Dims q = input_dims(call, 0);
  const Dims k = input_dims(call, 1);
  AttentionProblem problem = {q[0], q[1], k[1], q[2], k[2], q[3], input_dims(call, 2)[3]};
  problem.q = read_doubles(call.input(0));
  problem.k = read_doubles(call.input(1));
  problem.v = read_doubles(call.input(2));
  const double scale = call.attributes().get_float("scale");
  problem.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(problem.size));
  const std::int64_t past = call.has_input(4) ? input_dims(call, 4)[2] : 0;
  if (call.has_input(4)) append_past(call, past, &problem);
  FusedMasks masks;
  status = add_masks(call, past, &masks, &problem);
  if (!status.is_ok()) return status;
  status = write_doubles(call, 0, attend(problem, ScoreStage::kSoftmax, nullptr));
  if (status.is_ok() && call.has_output(1)) status = write_doubles(call, 1, problem.k);
  if (status.is_ok() && call.has_output(2)) status = write_doubles(call, 2, problem.v);
  return status;
}

Status run_reorder(const Call& call) {
  const sluice_tensor& from = call.input(0);
  const sluice_tensor& to = call.output(0);
  if (from.size_bytes != to.size_bytes) return refuse(call, "input and output differ in size");
  if (from.size_bytes > 0) std::memcpy(to.data, from.data, index(from.size_bytes));
  return plugin::ok();
}

}  // namespace

std::vector<KernelEntry> fused_kernels() {
  return {{.domain = "sluice", .kind = "Attention", .run = run_fused_attention},
          {.domain = "sluice", .kind = "Reorder", .run = run_reorder}};
}

}  // namespace sluice::reference
