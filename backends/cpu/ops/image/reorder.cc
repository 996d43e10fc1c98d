// sluice::Reorder: the same elements in another layout.

#include <algorithm>

#include "kernels/bytes/bytes.h"
#include "kernels/image/transpose.h"
#include "ops/image/window.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

Status check_reorder(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  if (x.layout == op.outputs[0].tensor.layout) return unimplemented("nothing to reorder");
  const bool is_known = x.element_type == plugin::kF32 || x.element_type == plugin::kU8;
  return x.rank >= 3 && is_known ? plugin::ok() : unimplemented("not an image of f32 or u8");
}

/// How a block of c16 is made of planes and taken apart, for elements of one type.
template <typename T>
struct BlockMoves {
  void (*to_block)(const T* planes, std::int64_t plane, std::int64_t channels, std::int64_t pixels,
                   T* block);
  void (*to_planes)(const T* block, std::int64_t pixels, std::int64_t channels, T* planes,
                    std::int64_t plane);
};

template <typename T>
class Reorder : public Kernel {
 public:
  Reorder(const sluice_op& op, const BlockMoves<T>& moves)
      : Kernel(op),
        to_blocks_(op.outputs[0].tensor.layout == SLUICE_LAYOUT_C16),
        images_(op.inputs[0].tensor.dims[0]),
        channels_(op.inputs[0].tensor.dims[1]),
        moves_(moves) {
    const auto dims = plugin::dims_of(op.inputs[0].tensor);
    for (const std::int64_t dim : dims.subspan(2)) pixels_ *= dim;
    pieces_ = (pixels_ + kPiece - 1) / kPiece;
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const std::int64_t blocks = blocks_of(channels_);
    const Share share = share_of(images_ * blocks * pieces_, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      // A piece is a run of pixels in one block of channels of one image. Where it starts:
      // planes  [image][channel][pixel]
      // blocks  [image][block][pixel][16 channels]
      const std::int64_t block = i / pieces_;
      const std::int64_t first = i % pieces_ * kPiece;
      const std::int64_t count = std::min(kPiece, pixels_ - first);
      const std::int64_t channel = block % blocks * kBlock;
      const std::int64_t channels = std::min<std::int64_t>(kBlock, channels_ - channel);
      const std::int64_t plane = (block / blocks * channels_ + channel) * pixels_ + first;
      const std::int64_t in_block = (block * pixels_ + first) * kBlock;
      if (to_blocks_) {
        moves_.to_block(run.input<T>(0) + plane, pixels_, channels, count,
                        run.output<T>(0) + in_block);
      } else {
        moves_.to_planes(run.input<T>(0) + in_block, count, channels, run.output<T>(0) + plane,
                         pixels_);
      }
    }
  }
  void extents(Extents& extents) const override {
    const std::int64_t blocked = blocks_of(channels_) * kBlock;
    extents.reads(0, {images_, to_blocks_ ? channels_ : blocked, pixels_, sizeof(T)});
    extents.writes(0, {images_, to_blocks_ ? blocked : channels_, pixels_, sizeof(T)});
  }
  double cost_ns() const override {
    return static_cast<double>(images_ * blocks_of(channels_) * kBlock * pixels_) * 0.15;
  }

 private:
  static constexpr std::int64_t kPiece =
      1024;  ///< pixels of a block that one worker moves at a time

  bool to_blocks_;
  std::int64_t images_;
  std::int64_t channels_;
  std::int64_t pixels_ = 1;
  std::int64_t pieces_ = 0;
  BlockMoves<T> moves_;
};

Status make_reorder(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (op.inputs[0].tensor.element_type == plugin::kU8) {
    *kernel = std::make_unique<Reorder<std::uint8_t>>(
        op, BlockMoves<std::uint8_t>{SLUICE_CPU_PICK(isa, planes_to_byte_block),
                                     SLUICE_CPU_PICK(isa, byte_block_to_planes)});
  } else {
    *kernel = std::make_unique<Reorder<float>>(
        op, BlockMoves<float>{SLUICE_CPU_PICK(isa, planes_to_block),
                              SLUICE_CPU_PICK(isa, block_to_planes)});
  }
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> reorder_entries() {
  return {{.domain = "sluice", .kind = "Reorder", .check = check_reorder, .make = make_reorder}};
}

}  // namespace sluice::cpu
