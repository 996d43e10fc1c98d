// sluice::Attention: attention over heads, with an optional mask and past.

#include "kernels/sequence/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "ops/operands/broadcast.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"
#include "plugin/tactic.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;

enum AttentionInput { kQ, kK, kV, kMask, kPastK, kPastV, kKeep };

bool has_output(const sluice_op& op, int output) {
  return op.num_outputs > output && !plugin::is_absent(op.outputs[output].tensor);
}

/// Row-major f32, but for the bools of `keep`.
Status check_elements(const sluice_op& op) {
  if (!has_input(op, kKeep)) return check_plain_f32(op);
  const sluice_tensor& keep = op.inputs[kKeep].tensor;
  if (keep.element_type != plugin::kBool || keep.layout != SLUICE_LAYOUT_ROW_MAJOR) {
    return plugin::unimplemented("Attention: keep of bools");
  }
  sluice_op numbers = op;
  numbers.num_inputs = kKeep;
  return check_plain_f32(numbers);
}

Status check_attention(const sluice_op& op) {
  for (const int input : {kQ, kK, kV}) {
    if (!has_input(op, input) || op.inputs[input].tensor.rank != 4) {
      return plugin::unimplemented("Attention: operands of rank 4");
    }
  }
  if (plugin::Attributes(op).get_int("packed_result") != 0) {
    return plugin::unimplemented("Attention: a packed result");
  }
  for (const int input : {kMask, kKeep}) {
    if (has_input(op, input) && op.inputs[input].tensor.rank > 4) {
      return plugin::unimplemented("Attention: mask of too many dimensions");
    }
  }
  if (has_input(op, kPastK) != has_input(op, kPastV))
    return plugin::unimplemented("Attention: half a past");
  if (has_input(op, kPastK) &&
      (op.inputs[kPastK].tensor.rank != 4 || op.inputs[kPastV].tensor.rank != 4)) {
    return plugin::unimplemented("Attention: a past of rank 4");
  }
  return check_elements(op);
}

AttentionStrides dense(std::span<const std::int64_t> dims) {
  return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

struct AttentionTactic {
  std::string_view name;
  std::int64_t rows = 0;  ///< AttentionPlan::block_rows
};

// The first is the default. "rows-24" sets the queries whose scores are in a tile.
constexpr AttentionTactic kTacticsOfRows[] = {
    {"", 0}, {"rows-24", 24}, {"rows-96", 96}, {"rows-12", 12}, {"rows-48", 48}};

/// Keys or values that a past is put in front of.
struct Joined {
  std::int64_t batch_heads = 0;
  std::int64_t past = 0;     ///< floats per head
  std::int64_t current = 0;  ///< floats per head

  std::int64_t floats() const { return batch_heads * (past + current); }
};

class Attention : public Kernel {
 public:
  Attention(const sluice_op& op, Isa isa)
      : Kernel(op),
        run_(SLUICE_CPU_PICK(isa, run_attention)),
        scratch_(SLUICE_CPU_PICK(isa, attention_scratch_bytes)) {
    const auto q = dims_of(op.inputs[kQ].tensor);
    const auto k = dims_of(op.inputs[kK].tensor);
    const auto v = dims_of(op.inputs[kV].tensor);
    plan_.batch = q[0];
    plan_.heads = q[1];
    plan_.kv_heads = k[1];
    plan_.queries = q[2];
    plan_.head_size = q[3];
    plan_.value_size = v[3];
    past_ = has_input(op, kPastK) ? op.inputs[kPastK].tensor.dims[2] : 0;
    plan_.keys = past_ + k[2];
    plan_.past = past_;
    const std::int64_t all_k[] = {k[0], k[1], plan_.keys, k[3]};
    const std::int64_t all_v[] = {v[0], v[1], plan_.keys, v[3]};
    plan_.q = dense(q);
    plan_.k = dense(all_k);
    plan_.v = dense(all_v);
    const std::int64_t all_out[] = {plan_.batch, plan_.heads, plan_.queries, plan_.value_size};
    plan_.out = dense(all_out);
    joined_k_ = {k[0] * k[1], past_ * k[3], k[2] * k[3]};
    joined_v_ = {v[0] * v[1], past_ * v[3], v[2] * v[3]};
    const plugin::Attributes attributes(op);
    plan_.causal = attributes.get_int("is_causal") != 0;
    plan_.scale = attributes.get_float("scale");
    if (plan_.scale == 0) plan_.scale = 1.0F / std::sqrt(static_cast<float>(plan_.head_size));
    plan_.hidden = attributes.get_float("hidden");
    plan_.zero_rows = static_cast<ZeroRows>(attributes.get_int("zero_rows", 1));
    plan_.block_rows = find_tactic(kTacticsOfRows, tactic_of(op, isa)).rows;
    plan_.mask = strides_of(kMask);
    plan_.keep = strides_of(kKeep);
  }

  /// Phase 0 joins past and present, the last phase attends.
  int phases() const override { return joins() ? 2 : 1; }

  void run(const Run& run, int phase, const Worker& worker) const override {
    if (joins() && phase == 0) {
      join(joined_k_, run, kPastK, kK, 1, worker);
      join(joined_v_, run, kPastV, kV, 2, worker);
      return;
    }
    AttentionArgs args;
    args.q = run.input<float>(kQ);
    // The present is the past with the new keys, and an output of its own, which the attention
    // reads.
    args.k = joins() ? run.output<float>(1) : run.input<float>(kK);
    args.v = joins() ? run.output<float>(2) : run.input<float>(kV);
    args.mask = has_input(op(), kMask) ? run.input<float>(kMask) : nullptr;
    args.keep = has_input(op(), kKeep) ? run.input<std::uint8_t>(kKeep) : nullptr;
    args.out = run.output<float>(0);
    run_(plan_, args, worker);
  }

  void extents(Extents& extents) const override {
    const std::int64_t present[] = {joined_k_.current, joined_v_.current};
    const Joined* joined[] = {&joined_k_, &joined_v_};
    const std::int64_t heads = plan_.batch * plan_.heads * plan_.queries;
    extents.reads(kQ, {heads, plan_.head_size, sizeof(float)});
    for (int i = 0; i < 2; ++i) {
      extents.reads(kK + i, {joined[i]->batch_heads, present[i], sizeof(float)});
      if (past_ > 0) {
        extents.reads(kPastK + i, {joined[i]->batch_heads, joined[i]->past, sizeof(float)});
      }
      if (joins()) extents.writes(1 + i, {joined[i]->floats(), sizeof(float)});
    }
    const std::int64_t dims[] = {plan_.batch, plan_.heads, plan_.queries, plan_.keys};
    const auto tell = [&](int input, const AttentionStrides& strides, std::int64_t bytes) {
      if (!has_input(op(), input)) return;
      const std::int64_t steps[] = {strides.batch, strides.head, strides.row, strides.step};
      extents.reads(input, {reach_of(dims, steps).end, bytes});
    };
    tell(kMask, plan_.mask, sizeof(float));
    tell(kKeep, plan_.keep, 1);
    extents.writes(0, {heads, plan_.value_size, sizeof(float)});
  }

  std::int64_t scratch_bytes() const override { return scratch_(plan_); }
  double cost_ns() const override {
    return static_cast<double>(plan_.batch * plan_.heads * plan_.queries * plan_.keys) *
           static_cast<double>(plan_.head_size + plan_.value_size) / 50;
  }

 private:
  bool joins() const { return has_output(op(), 1); }

  /// Strides of an input that is broadcast to the scores.
  AttentionStrides strides_of(AttentionInput input) const {
    if (!has_input(op(), input)) return {};
    const std::int64_t scores[] = {plan_.batch, plan_.heads, plan_.queries, plan_.keys};
    const Dims strides = broadcast_strides(dims_of(op().inputs[input].tensor), scores);
    return {strides[0], strides[1], strides[2], strides[3]};
  }

  void join(const Joined& what, const Run& run, int past_input, int input, int output,
            const Worker& worker) const {
    const float* past = what.past > 0 ? run.input<float>(past_input) : nullptr;
    const float* current = run.input<float>(input);
    float* to = run.output<float>(output);
    const Share share = share_of(what.batch_heads, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      float* head = to + i * (what.past + what.current);
      if (past != nullptr) {
        std::memcpy(head, past + i * what.past, static_cast<std::size_t>(what.past) * 4);
      }
      std::memcpy(head + what.past, current + i * what.current,
                  static_cast<std::size_t>(what.current) * 4);
    }
  }

  AttentionPlan plan_;
  decltype(&portable::run_attention) run_;
  decltype(&portable::attention_scratch_bytes) scratch_;
  std::int64_t past_ = 0;
  Joined joined_k_;
  Joined joined_v_;
};

bool is_consistent(std::span<const std::int64_t> q, std::span<const std::int64_t> k,
                   std::span<const std::int64_t> v) {
  const auto positive = [](std::int64_t dim) { return dim > 0; };
  return std::all_of(q.begin(), q.end(), positive) && std::all_of(k.begin(), k.end(), positive) &&
         std::all_of(v.begin(), v.end(), positive) && q[0] == k[0] && k[0] == v[0] &&
         k[1] == v[1] && q[1] % k[1] == 0 && k[2] == v[2] && q[3] == k[3];
}

Status make_attention(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const bool joined = has_output(op, 1) && has_output(op, 2);
  if (has_input(op, kPastK) && !joined) return plugin::unimplemented("past without present");
  if (has_output(op, 1) != has_output(op, 2)) return plugin::unimplemented("half a present");
  const auto k = dims_of(op.inputs[kK].tensor);
  if (!is_consistent(dims_of(op.inputs[kQ].tensor), k, dims_of(op.inputs[kV].tensor))) {
    return plugin::unimplemented("Attention over nothing");
  }
  // Kernels load a mask along the keys, so it may not be stretched there.
  const std::int64_t past = has_input(op, kPastK) ? op.inputs[kPastK].tensor.dims[2] : 0;
  for (const int input : {kMask, kKeep}) {
    if (!has_input(op, input)) continue;
    const auto mask = dims_of(op.inputs[input].tensor);
    if (mask.empty() || mask.back() != past + k[2]) return plugin::unimplemented("mask per row");
  }
  *kernel = std::make_unique<Attention>(op, isa);
  return plugin::ok();
}

std::vector<std::string> list_tactics(const sluice_op& op, Isa isa, int /*workers*/) {
  const auto q = dims_of(op.inputs[kQ].tensor);
  const auto k = dims_of(op.inputs[kK].tensor);
  AttentionPlan plan;
  plan.queries = q[2];
  plan.head_size = q[3];
  plan.value_size = op.inputs[kV].tensor.dims[3];
  plan.keys = k[2] + (has_input(op, kPastK) ? op.inputs[kPastK].tensor.dims[2] : 0);
  if (plan.queries <= 0 || plan.keys <= 0) return {};
  // Two plans for the same sizes differ only in the tiles of scores.
  return distinct_tactics(kTacticsOfRows, [&](const AttentionTactic& tactic) -> PlanNumbers {
    plan.block_rows = tactic.rows;
    return {{SLUICE_CPU_PICK(isa, attention_scratch_bytes)(plan)}};
  });
}

}  // namespace

std::vector<OpEntry> attention_entries() {
  return {{.domain = "sluice",
           .kind = "Attention",
           .check = check_attention,
           .make = make_attention,
           .tactics = list_tactics,
           .num_required_inputs = 3}};
}

}  // namespace sluice::cpu
