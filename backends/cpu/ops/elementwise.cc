#include "ops/elementwise.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "ops/blocked.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

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
    case BodyOp::kElu: return true;
    default: return false;
  }
}

bool is_scalar_loop(BodyOp op) {
  return op == BodyOp::kPow || op == BodyOp::kLog || op == BodyOp::kSoftplus;
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
      walk_(walk_of(chain_, out)) {
  for (const std::int64_t dim : walk_.dims) elements_ *= dim;
  const std::int64_t cols = walk_.dims.back();
  const std::int64_t rows = walk_.dims.size() > 1 ? walk_.dims[walk_.dims.size() - 2] : 1;
  if (elements_ == 0) return;
  tile_cols_ = std::min<std::int64_t>(cols, kBodyTileFloats);
  tile_rows_ = std::min(rows, kBodyTileFloats / tile_cols_);
  row_tiles_ = (rows + tile_rows_ - 1) / tile_rows_;
  col_tiles_ = (cols + tile_cols_ - 1) / tile_cols_;
  tiles_ = elements_ / (rows * cols) * row_tiles_ * col_tiles_;
}

void ElementwisePass::run(const Run& run, float* out, const Worker& worker) const {
  const float* sources[kBodyMaxInputs] = {};
  for (std::size_t i = 0; i < chain_.sources.size(); ++i) {
    sources[i] = source_address(chain_.sources[i], run);
    if (sources[i] == nullptr) sources[i] = out;
  }
  const Share share = share_of(tiles_, 1, worker);
  for (std::int64_t i = share.begin; i < share.end; ++i) {
    run_tile(i, sources, out, reinterpret_cast<float*>(worker.scratch));
  }
}

void ElementwisePass::run_tile(std::int64_t index, const float* const* sources, float* out,
                               float* scratch) const {
  const std::size_t rank = walk_.dims.size();
  const std::int64_t col = index % col_tiles_ * tile_cols_;
  index /= col_tiles_;
  const std::int64_t row = index % row_tiles_ * tile_rows_;
  index /= row_tiles_;
  std::int64_t offsets[kBodyMaxInputs + 1] = {};
  for (std::size_t d = rank < 2 ? 0 : rank - 2; d-- > 0;) {
    const std::int64_t at = index % walk_.dims[d];
    index /= walk_.dims[d];
    for (std::size_t i = 0; i < walk_.strides.size(); ++i) offsets[i] += at * walk_.strides[i][d];
  }
  BodyOperand operands[kBodyMaxInputs + 1];
  for (std::size_t i = 0; i < walk_.strides.size(); ++i) {
    const float* base = i == 0 ? out : sources[i - 1];
    const std::int64_t row_stride = rank > 1 ? walk_.strides[i][rank - 2] : 0;
    operands[i] =
        BodyOperand{base + offsets[i], row_stride, walk_.strides[i][rank - 1]}.at(row, col);
  }
  const std::int64_t rows = rank > 1 ? walk_.dims[rank - 2] : 1;
  const BodyTile tile{out + (operands[0].data - out), operands[0].row,
                      std::min(tile_rows_, rows - row),
                      std::min(tile_cols_, walk_.dims.back() - col)};
  run_body_(chain_.body, operands + 1, tile, scratch);
}

double ElementwisePass::cost_ns() const {
  double per_element = 0.1;
  for (int i = 0; i < chain_.body.step_count; ++i) {
    const BodyOp op = chain_.body.steps[i].op;
    per_element += is_scalar_loop(op) ? 10 : is_costly(op) ? 0.5 : 0.06;
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
  if (op.num_outputs != 1 || op.outputs[0].tensor.element_type != plugin::kF32) {
    return plugin::unimplemented("not f32");
  }
  Chain chain;
  if (Status status = translate(op, &chain); !status.is_ok()) return status;
  return check_sources(op, chain, op.outputs[0].tensor);
}

class Elementwise : public Kernel {
 public:
  Elementwise(const sluice_op& op, Chain chain, Isa isa)
      : Kernel(op),
        in_place_(in_place_of(op, chain)),
        pass_(std::move(chain), op.outputs[0].tensor, isa) {}

  void run(const Run& run, int, const Worker& worker) const override {
    pass_.run(run, run.output<float>(0), worker);
  }
  std::int64_t scratch_bytes() const override { return pass_.scratch_bytes(); }
  double cost_ns() const override { return pass_.cost_ns(); }
  std::uint32_t in_place_inputs() const override { return in_place_; }

 private:
  /// Inputs read exactly where the output is written.
  static std::uint32_t in_place_of(const sluice_op& op, const Chain& chain) {
    std::uint32_t bits = 0;
    for (const ChainSource& source : chain.sources) {
      if (source.from == ChainSource::From::kRunInput && source.run_input < 32 &&
          source.tensor->size_bytes == op.outputs[0].tensor.size_bytes) {
        bits |= 1U << source.run_input;
      }
    }
    return bits;
  }

  std::uint32_t in_place_;
  ElementwisePass pass_;
};

Status make(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  Chain chain;
  if (Status status = translate(op, &chain); !status.is_ok()) return status;
  *kernel = std::make_unique<Elementwise>(op, std::move(chain), isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> elementwise_entries() {
  std::vector<OpEntry> entries = {
      {.domain = "sluice", .kind = "Elementwise", .check = check, .make = make}};
  for (const char* kind : elementwise_kinds()) {
    entries.push_back({.kind = kind, .check = check, .make = make});
  }
  return entries;
}

}  // namespace sluice::cpu
