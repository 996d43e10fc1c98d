// RotaryEmbedding of row-major f32.

#include "kernels/sequence/rotary.h"

#include <cstring>
#include <memory>

#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

enum RotaryInput { kRotated, kCosines, kSines, kPositions };

/// X is [batch, heads, length, size], or [batch, length, heads * size].
struct RotaryShape {
  std::int64_t batch = 0, heads = 0, length = 0, size = 0;
  std::int64_t half = 0;        ///< pairs of a head that turn
  std::int64_t cache_rows = 0;  ///< of the caches [cache_rows, half]
  bool has_heads_first = true;

  std::int64_t rows() const { return batch * heads * length; }
  /// Which of [batch, length] row `i` of X belongs to.
  std::int64_t place(std::int64_t i) const {
    return has_heads_first ? i / (heads * length) * length + i % length : i / heads;
  }
};

class Rotary : public Kernel {
 public:
  Rotary(const sluice_op& op, const RotaryShape& shape, Isa isa)
      : Kernel(op),
        shape_(shape),
        is_interleaved_(plugin::Attributes(op).get_int("interleaved") != 0),
        rotate_row_(SLUICE_CPU_PICK(isa, rotate_row)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const auto* positions =
        has_input(op(), kPositions) ? run.input<std::int64_t>(kPositions) : nullptr;
    if (worker.index == 0) check_positions(run, positions);
    const Share share = share_of(shape_.rows(), 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t place = shape_.place(i);
      const std::int64_t row = positions == nullptr ? place : positions[place];
      if (row < 0 || row >= shape_.cache_rows) continue;
      const float* x = run.input<float>(kRotated) + i * shape_.size;
      float* y = run.output<float>(0) + i * shape_.size;
      rotate_row_(x, run.input<float>(kCosines) + row * shape_.half,
                  run.input<float>(kSines) + row * shape_.half, shape_.half, is_interleaved_, y);
      const std::int64_t rest = shape_.size - 2 * shape_.half;
      if (rest == 0 || x == y) continue;
      std::memcpy(y + 2 * shape_.half, x + 2 * shape_.half,
                  static_cast<std::size_t>(rest) * sizeof(float));
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(kRotated, {shape_.rows(), shape_.size, sizeof(float)});
    extents.reads(kCosines, {shape_.cache_rows, shape_.half, sizeof(float)});
    extents.reads(kSines, {shape_.cache_rows, shape_.half, sizeof(float)});
    if (has_input(op(), kPositions)) {
      extents.reads(kPositions, {shape_.batch, shape_.length, sizeof(std::int64_t)});
    }
    extents.writes(0, {shape_.rows(), shape_.size, sizeof(float)});
  }
  double cost_ns() const override {
    return static_cast<double>(shape_.rows()) * (8 + 0.1 * static_cast<double>(shape_.size));
  }
  std::uint32_t in_place_inputs() const override { return 1; }

 private:
  void check_positions(const Run& run, const std::int64_t* positions) const {
    for (std::int64_t i = 0; i < shape_.batch * shape_.length; ++i) {
      const std::int64_t row = positions == nullptr ? i : positions[i];
      if (row >= 0 && row < shape_.cache_rows) continue;
      return run.fail(plugin::index_outside(row, 0, shape_.cache_rows));
    }
  }

  RotaryShape shape_;
  bool is_interleaved_;
  decltype(&portable::rotate_row) rotate_row_;
};

Status check_rotary(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const bool has_positions = has_input(op, kPositions);
  const std::int32_t cache_rank = has_positions ? 2 : 3;
  for (const int i : {kRotated, kCosines, kSines}) {
    const sluice_tensor& tensor = op.inputs[i].tensor;
    if (tensor.element_type != plugin::kF32 || tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) {
      return unimplemented("not row-major f32");
    }
    if (i != kRotated && tensor.rank != cache_rank) return unimplemented("caches of another rank");
  }
  if (has_positions && (op.inputs[kPositions].tensor.element_type != plugin::kI64 ||
                        op.inputs[kPositions].tensor.rank != 2)) {
    return unimplemented("positions of another type");
  }
  const std::int32_t rank = op.inputs[kRotated].tensor.rank;
  if (op.outputs[0].tensor.rank != rank) return unimplemented("a result of another rank");
  return rank == 3 || rank == 4 ? plugin::ok() : unimplemented("other ranks");
}

Status make_rotary(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto x = dims_of(op.inputs[kRotated].tensor);
  const auto cache = dims_of(op.inputs[kCosines].tensor);
  RotaryShape shape;
  if (x.size() == 4) {
    shape = {x[0], x[1], x[2], x[3]};
  } else {
    const std::int64_t heads = plugin::Attributes(op).get_int("num_heads");
    if (heads < 1 || x[2] % heads != 0) return unimplemented("columns that are no heads");
    shape = {x[0], heads, x[1], x[2] / heads};
    shape.has_heads_first = false;
  }
  const std::int64_t given = plugin::Attributes(op).get_int("rotary_embedding_dim");
  const std::int64_t turned = given > 0 ? given : shape.size;
  shape.half = turned / 2;
  shape.cache_rows = product(cache, 0, static_cast<std::int64_t>(cache.size()) - 1);
  if (shape.half < 1 || turned > shape.size || cache.back() != shape.half ||
      !same_dims(op.inputs[kCosines].tensor, op.inputs[kSines].tensor)) {
    return unimplemented("caches that do not fit");
  }
  *kernel = std::make_unique<Rotary>(op, shape, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> rotary_entries() {
  return {{.kind = "RotaryEmbedding",
           .check = check_rotary,
           .make = make_rotary,
           .num_required_inputs = 3}};
}

}  // namespace sluice::cpu
