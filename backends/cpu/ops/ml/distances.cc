// SquaredDistances.
#include "kernels/ml/distances.h"

#include <algorithm>

#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

Status check_distances(const sluice_op& op) {
  if (op.inputs[0].tensor.rank != 2 || op.inputs[1].tensor.rank != 2) {
    return plugin::unimplemented("other ranks");
  }
  return check_plain_f32(op);
}

class Distances : public Kernel {
 public:
  Distances(const sluice_op& op, Isa isa)
      : Kernel(op),
        rows_(op.inputs[0].tensor.dims[0]),
        others_(op.inputs[1].tensor.dims[0]),
        columns_(op.inputs[0].tensor.dims[1]),
        squared_distances_(SLUICE_CPU_PICK(isa, squared_distances)),
        turn_rows_(SLUICE_CPU_PICK(isa, turn_rows)),
        turned_distances_(SLUICE_CPU_PICK(isa, turned_distances)) {}

  std::int64_t scratch_bytes() const override {
    return is_turned() ? columns_ * kTurnedRows * static_cast<std::int64_t>(sizeof(float)) : 0;
  }

  /// Each worker takes blocks of B. A block stays in the worker's L1 cache while all rows of A
  /// pass.
  void run(const Run& run, int, const Worker& worker) const override {
    if (is_turned()) return run_turned(run, worker);
    const Share share = share_of(others_, 4, worker);
    const std::int64_t block = std::max(kBlockFloats / std::max(columns_, kOne) / 4 * 4, 4 * kOne);
    for (std::int64_t first = share.begin; first < share.end; first += block) {
      const std::int64_t count = std::min(block, share.end - first);
      for (std::int64_t row = 0; row < rows_; ++row) {
        squared_distances_(run.input<float>(0) + row * columns_,
                           run.input<float>(1) + first * columns_, count, columns_,
                           run.output<float>(0) + row * others_ + first);
      }
    }
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {rows_, columns_, sizeof(float)});
    extents.reads(1, {others_, columns_, sizeof(float)});
    extents.writes(0, {rows_, others_, sizeof(float)});
  }
  double cost_ns() const override {
    const double per_pair = is_turned() ? 0.2 : 2;
    return static_cast<double>(rows_ * others_) * (static_cast<double>(columns_) * 0.1 + per_pair);
  }

 private:
  /// Turning B pays for itself after a few rows of A. Wide rows fill vectors as they are.
  bool is_turned() const { return rows_ >= 8 && columns_ <= 512; }

  void run_turned(const Run& run, const Worker& worker) const {
    auto* turned = reinterpret_cast<float*>(worker.scratch);
    const Share share = share_of(others_, kTurnedRows, worker);
    for (std::int64_t first = share.begin; first < share.end; first += kTurnedRows) {
      const std::int64_t count = std::min<std::int64_t>(kTurnedRows, share.end - first);
      turn_rows_(run.input<float>(1) + first * columns_, count, columns_, turned);
      turned_distances_(run.input<float>(0), rows_, turned, count, columns_,
                        run.output<float>(0) + first, others_);
    }
  }

  static constexpr std::int64_t kOne = 1;
  static constexpr std::int64_t kBlockFloats = 4096;  // half of an L1 cache of 32 KiB

  std::int64_t rows_, others_, columns_;
  decltype(&portable::squared_distances) squared_distances_;
  decltype(&portable::turn_rows) turn_rows_;
  decltype(&portable::turned_distances) turned_distances_;
};

Status make_distances(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (op.inputs[0].tensor.dims[1] != op.inputs[1].tensor.dims[1]) {
    return plugin::invalid_argument("the rows of A and B have no distance");
  }
  *kernel = std::make_unique<Distances>(op, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> distance_entries() {
  return {{.domain = "sluice",
           .kind = "SquaredDistances",
           .check = check_distances,
           .make = make_distances,
           .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
