// sluice::PagedAttention of f32, over pages of f32, f16 or rounded rows of i8: rows of many
// sequences over keys and values in pages. sluice::RoundRows of row-major f32, which makes such
// rows.

#include "kernels/sequence/paged_attention.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "kernels/sequence/round_rows.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

enum PagedInput {
  kPagedQ,
  kPagedKeys,
  kPagedValues,
  kPagedPositions,
  kPagedSequences,
  kPagedTables
};
constexpr std::int32_t kPagedRanks[] = {2, 4, 4, 1, 1, 2};

Status check_paged(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_element_type pages = op.inputs[kPagedKeys].tensor.element_type;
  if (pages != plugin::kF32 && pages != plugin::kF16 && pages != plugin::kI8) {
    return unimplemented("PagedAttention: pages not of f32, f16 or i8");
  }
  for (int i = kPagedQ; i <= kPagedTables; ++i) {
    const sluice_tensor& tensor = op.inputs[i].tensor;
    const sluice_element_type wanted = i >= kPagedPositions ? plugin::kI64
                                       : i == kPagedQ       ? plugin::kF32
                                                            : pages;
    if (tensor.element_type != wanted || tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) {
      return unimplemented("PagedAttention: not row-major f32 and i64, with pages of one type");
    }
    if (tensor.rank != kPagedRanks[i]) return unimplemented("PagedAttention: other ranks");
  }
  return plugin::ok();
}

class PagedAttention : public Kernel {
 public:
  PagedAttention(const sluice_op& op, const PagedPlan& plan, Isa isa)
      : Kernel(op),
        plan_(plan),
        run_(SLUICE_CPU_PICK(isa, run_paged)),
        scratch_(SLUICE_CPU_PICK(isa, paged_scratch_bytes)(plan)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    PagedArgs args;
    args.q = run.input<float>(kPagedQ);
    args.keys = run.input<void>(kPagedKeys);
    args.values = run.input<void>(kPagedValues);
    args.positions = run.input<std::int64_t>(kPagedPositions);
    args.sequences = run.input<std::int64_t>(kPagedSequences);
    args.tables = run.input<std::int64_t>(kPagedTables);
    args.out = run.output<float>(0);
    // Each worker by itself: none touches a page before it knows that all numbers are in range.
    if (Status status = check(args); !status.is_ok()) {
      if (worker.index == 0) run.fail(std::move(status));
      return;
    }
    run_(plan_, args, worker);
  }

  void extents(Extents& extents) const override {
    const std::int64_t places = plan_.kv_heads * plan_.places;
    extents.reads(kPagedQ, {plan_.rows, plan_.heads, plan_.head_size, sizeof(float)});
    extents.reads(kPagedKeys, {plan_.pages, places, row_bytes(plan_.head_size)});
    extents.reads(kPagedValues, {plan_.pages, places, row_bytes(plan_.value_size)});
    extents.reads(kPagedPositions, {plan_.rows, sizeof(std::int64_t)});
    extents.reads(kPagedSequences, {plan_.rows, sizeof(std::int64_t)});
    extents.reads(kPagedTables, {plan_.sequences, plan_.blocks, sizeof(std::int64_t)});
    extents.writes(0, {plan_.rows, plan_.heads, plan_.value_size, sizeof(float)});
  }

  std::int64_t scratch_bytes() const override { return scratch_; }

  /// Lengths are data; it is worth dividing from about a page a row on.
  double cost_ns() const override {
    return static_cast<double>(plan_.rows * plan_.heads) *
           static_cast<double>(plan_.head_size + plan_.value_size) * 4;
  }

 private:
  std::int64_t row_bytes(std::int64_t size) const {
    return size * storage_bytes(plan_.storage) + (plan_.storage == Storage::kI8 ? kScaleBytes : 0);
  }

  Status check(const PagedArgs& args) const {
    std::int64_t checked = 0;  // blocks of the sequence of the row before
    for (std::int64_t row = 0; row < plan_.rows; ++row) {
      const std::int64_t sequence = args.sequences[row];
      if (sequence < 0 || sequence >= plan_.sequences) {
        return plugin::index_outside(sequence, 0, plan_.sequences);
      }
      const std::int64_t position = args.positions[row];
      const std::int64_t last = position / plan_.places;
      if (position < 0 || last >= plan_.blocks) {
        return plugin::index_outside(last, 1, plan_.blocks);
      }
      const std::int64_t first =
          plan_.window > 0 ? std::max<std::int64_t>(0, position + 1 - plan_.window) : 0;
      const bool goes_on = row > 0 && sequence == args.sequences[row - 1] && plan_.window == 0;
      std::int64_t block = goes_on ? checked : first / plan_.places;
      const std::int64_t* table = args.tables + sequence * plan_.blocks;
      for (; block <= last; ++block) {
        if (table[block] < 0 || table[block] >= plan_.pages) {
          return plugin::index_outside(table[block], 0, plan_.pages);
        }
      }
      checked = block;
    }
    return plugin::ok();
  }

  PagedPlan plan_;
  decltype(&portable::run_paged) run_;
  std::int64_t scratch_;
};

/// Nullopt if the shapes do not fit, which the reference kernel reports.
std::optional<PagedPlan> paged_plan_of(const sluice_op& op) {
  const auto q = dims_of(op.inputs[kPagedQ].tensor);
  const auto k = dims_of(op.inputs[kPagedKeys].tensor);
  const auto v = dims_of(op.inputs[kPagedValues].tensor);
  const auto tables = dims_of(op.inputs[kPagedTables].tensor);
  const sluice_element_type pages = op.inputs[kPagedKeys].tensor.element_type;
  const std::int64_t behind = pages == plugin::kI8 ? kScaleBytes : 0;
  const std::int64_t size = k[3] - behind, value_size = v[3] - behind;
  const bool fits = k[0] == v[0] && k[1] == v[1] && k[2] == v[2] && k[1] > 0 && k[2] > 0 &&
                    size > 0 && value_size > 0 && q[1] > 0 && q[1] % (k[1] * size) == 0 &&
                    op.inputs[kPagedPositions].tensor.dims[0] == q[0] &&
                    op.inputs[kPagedSequences].tensor.dims[0] == q[0];
  if (!fits) return std::nullopt;
  const plugin::Attributes attributes(op);
  PagedPlan plan;
  plan.rows = q[0];
  plan.heads = q[1] / size;
  plan.kv_heads = k[1];
  plan.head_size = size;
  plan.value_size = value_size;
  plan.pages = k[0];
  plan.places = k[2];
  plan.sequences = tables[0];
  plan.blocks = tables[1];
  if (pages == plugin::kF16) plan.storage = Storage::kF16;
  if (pages == plugin::kI8) plan.storage = Storage::kI8;
  plan.window = attributes.get_int("window");
  plan.scale = attributes.get_float("scale");
  plan.cap = attributes.get_float("softcap");
  if (plan.scale == 0) plan.scale = 1.0F / std::sqrt(static_cast<float>(plan.head_size));
  return plan;
}

Status make_paged(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto plan = paged_plan_of(op);
  if (!plan) return unimplemented("PagedAttention: shapes that do not fit");
  *kernel = std::make_unique<PagedAttention>(op, *plan, isa);
  return plugin::ok();
}

class RoundRows : public Kernel {
 public:
  RoundRows(const sluice_op& op, std::int64_t rows, std::int64_t size, Isa isa)
      : Kernel(op), rows_(rows), size_(size), round_row_(SLUICE_CPU_PICK(isa, round_row)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(rows_, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      round_row_(run.input<float>(0) + i * size_, size_,
                 run.output<std::int8_t>(0) + i * (size_ + kScaleBytes));
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {rows_, size_, sizeof(float)});
    extents.writes(0, {rows_, size_ + kScaleBytes});
  }
  double cost_ns() const override {
    return static_cast<double>(rows_) * (8 + 0.1 * static_cast<double>(size_));
  }

 private:
  std::int64_t rows_, size_;
  decltype(&portable::round_row) round_row_;
};

Status check_round_rows(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (x.element_type != plugin::kF32 || x.layout != SLUICE_LAYOUT_ROW_MAJOR ||
      y.element_type != plugin::kI8 || y.layout != SLUICE_LAYOUT_ROW_MAJOR) {
    return unimplemented("RoundRows: not row-major f32 to i8");
  }
  return x.rank > 0 && x.rank == y.rank ? plugin::ok() : unimplemented("RoundRows: other ranks");
}

Status make_round_rows(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto x = dims_of(op.inputs[0].tensor);
  const auto y = dims_of(op.outputs[0].tensor);
  const auto last = static_cast<std::int64_t>(x.size()) - 1;
  const std::int64_t rows = product(x, 0, last);
  if (rows < 0 || y.back() != x.back() + kScaleBytes || product(y, 0, last) != rows) {
    return unimplemented("RoundRows: shapes that do not fit");
  }
  *kernel = std::make_unique<RoundRows>(op, rows, x.back(), isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> paged_attention_entries() {
  return {{.domain = "sluice",
           .kind = "PagedAttention",
           .check = check_paged,
           .make = make_paged,
           .num_required_inputs = 6},
          {.domain = "sluice",
           .kind = "RoundRows",
           .check = check_round_rows,
           .make = make_round_rows}};
}

}  // namespace sluice::cpu
