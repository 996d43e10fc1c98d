// Rearrangements that are one strided copy: DepthToSpace, SpaceToDepth, Tile.

#include <memory>
#include <string_view>
#include <vector>

#include "ops/copy/one_copy.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

/// An image [n, c, h, w], and the size of its blocks.
struct BlockedImage {
  std::int64_t n, c, h, w, block;
};

Status check_blocks(const sluice_op& op) {
  if (op.inputs[0].tensor.rank != 4 || op.outputs[0].tensor.rank != 4) {
    return plugin::unimplemented("other ranks");
  }
  const std::int64_t block = plugin::Attributes(op).get_int("blocksize");
  if (block < 1 || block > 1024) return plugin::unimplemented("such a blocksize");
  return check_movable(op);
}

BlockedImage image_of(const sluice_op& op, const sluice_tensor& t) {
  return {t.dims[0], t.dims[1], t.dims[2], t.dims[3], plugin::Attributes(op).get_int("blocksize")};
}

/// Between channels of `deep` and blocks of `wide`. Runs of both rows and columns go innermost
/// where the deep image is read or written in order.
Status make_blocks(const sluice_op& op, Isa isa, bool is_deepening, bool is_channel_first,
                   std::unique_ptr<Kernel>* kernel) {
  const sluice_tensor& in = op.inputs[0].tensor;
  const sluice_tensor& out = op.outputs[0].tensor;
  const BlockedImage deep = image_of(op, is_deepening ? out : in);
  const BlockedImage wide = image_of(op, is_deepening ? in : out);
  const std::int64_t b = deep.block;
  if (deep.n != wide.n || deep.c != wide.c * b * b || wide.h != deep.h * b ||
      wide.w != deep.w * b) {
    return plugin::unimplemented("shapes that do not fit");
  }
  // Channels of the deep image are [row of block][column of block][c] (DCR), or [c][row of
  // block][column of block] (CRD).
  const std::int64_t plane = deep.h * deep.w;
  const std::int64_t channel = is_channel_first ? plane * b * b : plane;
  const std::int64_t row = is_channel_first ? plane * b : plane * wide.c * b;
  const std::int64_t column = is_channel_first ? plane : plane * wide.c;
  const Dims dims = {deep.n, wide.c, deep.h, b, b, deep.w};
  const Dims at_deep = {deep.c * plane, channel, deep.w, row, column, 1};
  const Dims at_wide = {deep.c * plane, wide.h * wide.w, b * wide.w, wide.w, 1, b};
  StridedCopy copy(dims, is_deepening ? at_wide : at_deep, is_deepening ? at_deep : at_wide,
                   element_bytes(in), isa);
  *kernel = std::make_unique<OneCopy>(op, std::move(copy));
  return plugin::ok();
}

Status make_depth_to_space(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  return make_blocks(op, isa, false, plugin::Attributes(op).get_text("mode", "DCR") == "CRD",
                     kernel);
}

Status make_space_to_depth(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  return make_blocks(op, isa, true, plugin::Attributes(op).get_text("mode", "DCR") == "CRD",
                     kernel);
}

/// The host knows the shape, which the repeats of the run must give.
class TileCopy : public OneCopy {
 public:
  using OneCopy::OneCopy;

  void run(const Run& run, int phase, const Worker& worker) const override {
    const auto in = plugin::dims_of(op().inputs[0].tensor);
    const auto out = plugin::dims_of(op().outputs[0].tensor);
    for (std::size_t d = 0; worker.index == 0 && d < in.size(); ++d) {
      if (run.input<std::int64_t>(1)[d] == out[d] / in[d]) continue;
      run.fail(plugin::invalid_argument("Tile: the repeats do not give the output " +
                                        plugin::to_string(out)));
      break;
    }
    OneCopy::run(run, phase, worker);
  }
  void extents(Extents& extents) const override {
    OneCopy::extents(extents);
    extents.reads(1, {op().inputs[0].tensor.rank, sizeof(std::int64_t)});
  }
};

Status check_tile(const sluice_op& op) {
  if (op.inputs[0].tensor.rank != op.outputs[0].tensor.rank ||
      op.inputs[1].tensor.element_type != plugin::kI64) {
    return plugin::unimplemented("a result of another rank, or repeats of another type");
  }
  return check_movable(op);
}

Status make_tile(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto in = plugin::dims_of(op.inputs[0].tensor);
  const auto out = plugin::dims_of(op.outputs[0].tensor);
  const Dims dense = dense_strides(in);
  Dims dims;
  Dims from;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (in[d] < 1 || out[d] % in[d] != 0) return plugin::unimplemented("shapes that do not fit");
    dims.insert(dims.end(), {out[d] / in[d], in[d]});
    from.insert(from.end(), {0, dense[d]});
  }
  StridedCopy copy(dims, from, dense_strides(dims), element_bytes(op.inputs[0].tensor), isa);
  *kernel = std::make_unique<TileCopy>(op, std::move(copy));
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> rearrange_entries() {
  return {{.kind = "DepthToSpace", .check = check_blocks, .make = make_depth_to_space},
          {.kind = "SpaceToDepth", .check = check_blocks, .make = make_space_to_depth},
          {.kind = "Tile", .check = check_tile, .make = make_tile, .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
