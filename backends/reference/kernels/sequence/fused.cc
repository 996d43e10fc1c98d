// Sluice's own operators: Attention, and Reorder between equal layouts.
#include <cmath>
#include <cstring>
#include <limits>

#include "reference/families.h"
#include "reference/kernels/sequence/attention.h"
#include "reference/kernels/sequence/heads.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

/// Reads q, k and v into the problem, behind the past.
Status read_problem(const Call& call, AttentionProblem* problem) {
  Heads q, k, v;
  Status status = read_heads(call, 0, "q_num_heads", &q);
  if (status.is_ok()) status = read_heads(call, 1, "kv_num_heads", &k);
  if (status.is_ok()) status = read_heads(call, 2, "kv_num_heads", &v);
  if (status.is_ok()) status = append_past(call, 4, &k);
  if (status.is_ok()) status = append_past(call, 5, &v);
  if (!status.is_ok()) return status;
  if (q.batch != k.batch || q.size != k.size || k.batch != v.batch || k.heads != v.heads ||
      k.length != v.length || k.heads < 1 || q.heads % k.heads != 0) {
    return refuse(call, "q, k and v do not fit");
  }
  if (call.has_input(4) != call.has_input(5))
    return refuse_model(call, "half of the past is missing");
  *problem = {q.batch, q.heads, k.heads, q.length, k.length, q.size, v.size};
  problem->q = std::move(q.values);
  problem->k = std::move(k.values);
  problem->v = std::move(v.values);
  const double scale = call.attributes().get_float("scale");
  problem->scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(problem->size));
  return plugin::ok();
}

/// Floats of one type; `keep` is of bools.
Status check_elements(const Call& call) {
  const sluice_element_type type = call.input(0).element_type;
  if (!contains(kFloats, type)) return refuse_model(call, "it takes floats");
  bool fits = call.output(0).element_type == type;
  for (int i = 0; i < call.num_inputs(); ++i) {
    const sluice_element_type wanted = i == 6 ? plugin::kBool : type;
    fits = fits && (!call.has_input(i) || call.input(i).element_type == wanted);
  }
  return fits ? plugin::ok()
              : refuse_model(call, "its operands have element types that do not fit");
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
  Status status = check_elements(call);
  AttentionProblem problem;
  if (status.is_ok()) status = read_problem(call, &problem);
  if (!status.is_ok()) return status;
  FusedMasks masks;
  status = add_masks(call, call.has_input(4) ? input_dims(call, 4)[2] : 0, &masks, &problem);
  if (!status.is_ok()) return status;
  std::vector<double> y = attend(problem, ScoreStage::kSoftmax, nullptr);
  if (call.attributes().get_int("packed_result") != 0) {
    y = swap_middle(y, problem.batch, problem.q_heads, problem.queries, problem.v_size);
  }
  status = write_doubles(call, 0, y);
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
