#include "ops/elementwise/elementwise.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "ops/elementwise/typed.h"
#include "ops/elementwise/types.h"
#include "ops/operands/blocked.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

/// Strides of the output, then of the sources, over as few axes as describe them all.
Walk walk_of(const Chain& chain, const sluice_tensor& out) {
  const Dims dims = memory_dims(out);
  std::vector<Dims> strides = {broadcast_strides(dims, dims)};
  for (const ChainSource& source : chain.sources) {
    strides.push_back(broadcast_strides(*memory_dims_within(*source.tensor, out), dims));
  }
  return collapse(dims, std::move(strides));
}

bool is_costly(BodyOp op) {
  switch (op) {
    case BodyOp::kExp:
    case BodyOp::kErf:
    case BodyOp::kTanh:
    case BodyOp::kSigmoid:
    case BodyOp::kGelu:
    case BodyOp::kGeluTanh:
    case BodyOp::kSilu:
    case BodyOp::kElu:
    case BodyOp::kLog:
    case BodyOp::kSoftplus:
    case BodyOp::kSin:
    case BodyOp::kCos:
    case BodyOp::kTan:
    case BodyOp::kAsin:
    case BodyOp::kAcos:
    case BodyOp::kAtan:
    case BodyOp::kSinh:
    case BodyOp::kCosh:
    case BodyOp::kAsinh:
    case BodyOp::kAcosh:
    case BodyOp::kAtanh: return true;
    default: return false;
  }
}

}  // namespace

Status check_sources(const sluice_op& op, const Chain& chain, const sluice_tensor& out) {
  for (const ChainSource& source : chain.sources) {
    if (!broadcasts_to(plugin::dims_of(*source.tensor), plugin::dims_of(out))) {
      return plugin::invalid_argument(
          plugin::kind_of(op) + ": operand " + plugin::to_string(plugin::dims_of(*source.tensor)) +
          " does not broadcast to " + plugin::to_string(plugin::dims_of(out)));
    }
    if (!memory_dims_within(*source.tensor, out)) {
      return plugin::unimplemented("operands of unlike layouts");
    }
  }
  return plugin::ok();
}

ElementwisePass::ElementwisePass(Chain chain, const sluice_tensor& out, Isa isa)
    : chain_(std::move(chain)),
      run_body_(SLUICE_CPU_PICK(isa, run_body)),
      to_floats_(SLUICE_CPU_PICK(isa, to_floats)),
      from_floats_(SLUICE_CPU_PICK(isa, from_floats)),
      walk_(walk_of(chain_, out)) {
  // An operand that does not lie as f32 has a buffer, which holds one tile of it as floats.
  const auto add_type = [&](sluice_element_type type) {
    const Storage storage = storage_of(type).value_or(Storage::kF32);
    types_.push_back({storage, storage == Storage::kF32 ? -1 : buffers_++});
  };
  add_type(out.element_type);
  for (const ChainSource& source : chain_.sources) add_type(source.tensor->element_type);
  for (const std::int64_t dim : walk_.dims) elements_ *= dim;
  const std::int64_t cols = walk_.dims.back();
  const std::int64_t rows = walk_.dims.size() > 1 ? walk_.dims[walk_.dims.size() - 2] : 1;
  if (elements_ == 0) return;
  // A tile is some whole rows if one fits, else a part of a row.
  tile_cols_ = std::min<std::int64_t>(cols, kBodyTileFloats);
  tile_rows_ = std::min(rows, kBodyTileFloats / tile_cols_);
  row_tiles_ = (rows + tile_rows_ - 1) / tile_rows_;
  col_tiles_ = (cols + tile_cols_ - 1) / tile_cols_;
  tiles_ = elements_ / (rows * cols) * row_tiles_ * col_tiles_;
}

void ElementwisePass::extents(Extents& extents) const {
  for (std::size_t i = 0; i < chain_.sources.size(); ++i) {
    if (chain_.sources[i].from != ChainSource::From::kRunInput) continue;
    const Reach reach = reach_of(walk_.dims, walk_.strides[i + 1]);
    extents.reads(chain_.sources[i].run_input, {reach.end, storage_bytes(types_[i + 1].storage)});
  }
}

std::int64_t ElementwisePass::scratch_bytes() const {
  return chain_.body.scratch_bytes() +
         buffers_ * kBodyTileFloats * static_cast<std::int64_t>(sizeof(float));
}

void ElementwisePass::run(const Run& run, void* out, const Worker& worker) const {
  const std::byte* operands[kBodyMaxInputs + 1] = {static_cast<const std::byte*>(out)};
  for (std::size_t i = 0; i < chain_.sources.size(); ++i) {
    operands[i + 1] = source_address<std::byte>(chain_.sources[i], run);
    // The source without an address is the operation's own result, which lies in `out`.
    if (operands[i + 1] == nullptr) operands[i + 1] = operands[0];
  }
  const Share share = share_of(tiles_, 1, worker);
  for (std::int64_t i = share.begin; i < share.end; ++i) {
    run_tile(i, operands, static_cast<std::byte*>(out), reinterpret_cast<float*>(worker.scratch));
  }
}

/// One tile: finds where it begins in each operand, widens operands that are no f32, runs the body,
/// and narrows the result.
void ElementwisePass::run_tile(std::int64_t index, const std::byte* const* operands, std::byte* out,
                               float* scratch) const {
  const std::size_t rank = walk_.dims.size();
  const std::int64_t col = index % col_tiles_ * tile_cols_;
  index /= col_tiles_;
  const std::int64_t row = index % row_tiles_ * tile_rows_;
  index /= row_tiles_;
  std::int64_t offsets[kBodyMaxInputs + 1] = {};
  // The axes before the last two: a tile lies in one plane of them.
  for (std::size_t d = rank < 2 ? 0 : rank - 2; d-- > 0;) {
    const std::int64_t at = index % walk_.dims[d];
    index /= walk_.dims[d];
    for (std::size_t i = 0; i < walk_.strides.size(); ++i) offsets[i] += at * walk_.strides[i][d];
  }
  const auto stride = [&](std::size_t i) { return rank > 1 ? walk_.strides[i][rank - 2] : 0; };
  for (std::size_t i = 0; i < walk_.strides.size(); ++i) {
    offsets[i] += row * stride(i) + col * walk_.strides[i][rank - 1];
  }
  BodyTile tile;
  tile.rows = std::min(tile_rows_, (rank > 1 ? walk_.dims[rank - 2] : 1) - row);
  tile.cols = std::min(tile_cols_, walk_.dims.back() - col);
  float* buffers = scratch + chain_.body.scratch_bytes() / static_cast<std::int64_t>(sizeof(float));
  const auto buffer = [&](std::size_t i) { return buffers + types_[i].buffer * kBodyTileFloats; };
  const auto address = [&](std::size_t i) {
    return operands[i] + offsets[i] * storage_bytes(types_[i].storage);
  };
  BodyOperand inputs[kBodyMaxInputs];
  for (std::size_t i = 1; i < walk_.strides.size(); ++i) {
    const bool is_f32 = types_[i].buffer < 0;
    inputs[i - 1] = is_f32 ? BodyOperand{reinterpret_cast<const float*>(address(i)), stride(i),
                                         walk_.strides[i][rank - 1]}
                           : widened(i, address(i), tile, buffer(i));
  }
  std::byte* result = out + offsets[0] * storage_bytes(types_[0].storage);
  const bool is_f32 = types_[0].buffer < 0;
  tile.out = is_f32 ? reinterpret_cast<float*>(result) : buffer(0);
  tile.out_row = is_f32 ? stride(0) : tile.cols;
  run_body_(chain_.body, inputs, tile, scratch);
  if (!is_f32) store(tile, result);
}

/// The tile of an operand as floats: a row once if all rows are alike, a value if a row is one.
BodyOperand ElementwisePass::widened(std::size_t operand, const std::byte* data,
                                     const BodyTile& tile, float* buffer) const {
  const std::size_t rank = walk_.dims.size();
  const std::int64_t row = rank > 1 ? walk_.strides[operand][rank - 2] : 0;
  const std::int64_t col = walk_.strides[operand][rank - 1];
  const Storage storage = types_[operand].storage;
  const std::int64_t rows = row == 0 ? 1 : tile.rows;
  const std::int64_t cols = col == 0 ? 1 : tile.cols;
  // Rows without gaps are one run of numbers.
  if (row == cols) {
    to_floats_(storage, data, rows * cols, buffer);
  } else {
    for (std::int64_t r = 0; r < rows; ++r) {
      to_floats_(storage, data + r * row * storage_bytes(storage), cols, buffer + r * cols);
    }
  }
  return {buffer, row == 0 ? 0 : cols, col};
}

void ElementwisePass::store(const BodyTile& tile, std::byte* out) const {
  const std::size_t rank = walk_.dims.size();
  const Storage storage = types_[0].storage;
  const std::int64_t row = rank > 1 ? walk_.strides[0][rank - 2] : 0;
  if (row == tile.cols || tile.rows == 1) {
    return from_floats_(storage, tile.out, tile.rows * tile.cols, out);
  }
  for (std::int64_t r = 0; r < tile.rows; ++r) {
    from_floats_(storage, tile.out + r * tile.cols, tile.cols,
                 out + r * row * storage_bytes(storage));
  }
}

double ElementwisePass::cost_ns() const {
  // Nanoseconds per element on one core, roughly: loads and stores, then each step.
  double per_element = 0.1;
  for (int i = 0; i < chain_.body.step_count; ++i) {
    const BodyOp op = chain_.body.steps[i].op;
    per_element += op == BodyOp::kPow ? 2 : is_costly(op) ? 0.5 : 0.06;
  }
  return static_cast<double>(elements_) * per_element;
}

namespace {

bool is_fused(const sluice_op& op) { return std::string_view(op.kind) == "Elementwise"; }

Status translate(const sluice_op& op, Chain* chain) {
  if (!is_fused(op) && op.body != nullptr) return plugin::unimplemented("body");
  return is_fused(op) ? translate_body(op, chain) : translate_operator(op, chain);
}

Status check(const sluice_op& op) {
  if (op.num_outputs != 1) return plugin::unimplemented("several outputs");
  if (is_typed(op)) return check_typed(op);
  Chain chain;
  if (Status status = translate(op, &chain); !status.is_ok()) return status;
  if (chain.result_type != op.outputs[0].tensor.element_type) {
    return plugin::unimplemented("a result of another type");
  }
  return check_sources(op, chain, op.outputs[0].tensor);
}

class Elementwise : public Kernel {
 public:
  Elementwise(const sluice_op& op, Chain chain, Isa isa)
      : Kernel(op),
        in_place_(in_place_of(op, chain)),
        pass_(std::move(chain), op.outputs[0].tensor, isa) {}

  void run(const Run& run, int, const Worker& worker) const override {
    pass_.run(run, run.output<void>(0), worker);
  }
  void extents(Extents& extents) const override { pass_.extents(extents); }
  std::int64_t scratch_bytes() const override { return pass_.scratch_bytes(); }
  double cost_ns() const override { return pass_.cost_ns(); }
  std::uint32_t in_place_inputs() const override { return in_place_; }

 private:
  /// Inputs read exactly where the output is written: element i of both lies at the same byte.
  /// Equal sizes alone do not say that: f32[n] has the bytes of the bool[4,n] that it is compared
  /// to.
  static std::uint32_t in_place_of(const sluice_op& op, const Chain& chain) {
    const sluice_tensor& out = op.outputs[0].tensor;
    std::uint32_t bits = 0;
    for (const ChainSource& source : chain.sources) {
      if (source.from != ChainSource::From::kRunInput || source.run_input >= 32) continue;
      const sluice_tensor& in = *source.tensor;
      // As many elements as the output: none is broadcast.
      const bool lies_as_output = in.layout == out.layout && in.size_bytes == out.size_bytes &&
                                  element_bytes(in) == element_bytes(out);
      if (lies_as_output) bits |= 1U << source.run_input;
    }
    return bits;
  }

  std::uint32_t in_place_;
  ElementwisePass pass_;
};

Status make(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (is_typed(op)) return make_typed(op, isa, kernel);
  Chain chain;
  if (Status status = translate(op, &chain); !status.is_ok()) return status;
  *kernel = std::make_unique<Elementwise>(op, std::move(chain), isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> elementwise_entries() {
  std::vector<OpEntry> entries = {{.domain = "sluice",
                                   .kind = "Elementwise",
                                   .check = check,
                                   .make = make,
                                   .num_required_inputs = 0}};
  std::vector<const char*> kinds = elementwise_kinds();
  for (const char* kind : typed_kinds()) kinds.push_back(kind);
  for (const char* kind : kinds) {
    entries.push_back({.kind = kind, .check = check, .make = make});
  }
  return entries;
}

}  // namespace sluice::cpu
