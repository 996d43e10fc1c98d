// GridSample of row-major f32, in every mode, of one to three spatial axes.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>

#include "core/divide.h"
#include "core/units.h"
#include "kernels/conv/conv_tile.h"
#include "kernels/image/gather_sums.h"
#include "kernels/image/transpose.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

constexpr int kAxes = 3;
constexpr int kAxisTaps = 4;
/// Taps that are found together, for all channels: as many as a second cache holds beside a plane.
/// Points may lie anywhere in the plane, which is read anew for each group of them.
constexpr std::int64_t kTapsTogether = 16384;
/// Channels that one worker computes from the same taps: a block of c16.
constexpr std::int64_t kChannels = kBlock;
/// Pixels that are brought into blocks together, and sums that are brought back.
constexpr std::int64_t kPixelsTogether = 1024;
constexpr std::int64_t kSumsTogether = 64;
constexpr std::int64_t kMostBlockBytes = 64 * 1024 * kKiB;

enum class Mode { kNearest, kLinear, kCubic };
enum class Outside { kZeros, kBorder, kReflection };

/// The elements along one axis that a place is between. Those outside that count as 0 are left out.
struct AxisTaps {
  std::int64_t at[kAxisTaps];
  double weights[kAxisTaps];
  int count = 0;

  void add(std::int64_t element, double weight) {
    if (weight == 0 || element < 0) return;
    at[count] = element;
    weights[count] = weight;
    ++count;
  }
};

/// A call of std::floor would take most of the time. Requires: |x| < 2^62.
std::int64_t floor_of(double x) {
  const auto cut = static_cast<std::int64_t>(x);
  return static_cast<double>(cut) > x ? cut - 1 : cut;
}

/// Mirrors `x` into [low, high] as often as it takes.
double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double turns = std::fmod(std::fabs(x - low), 2 * range);
  return low + (turns <= range ? turns : 2 * range - turns);
}

/// Keys' kernel with the factor of PyTorch and of the standard.
double cubic_weight(double x) {
  constexpr double kA = -0.75;
  x = std::fabs(x);
  if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA : 0;
}

class Sampler {
 public:
  explicit Sampler(const sluice_op& op) {
    const plugin::Attributes attributes(op);
    const std::string_view mode = attributes.get_text("mode", "linear");
    const std::string_view padding = attributes.get_text("padding_mode", "zeros");
    if (mode == "nearest") mode_ = Mode::kNearest;
    if (mode == "cubic" || mode == "bicubic") mode_ = Mode::kCubic;
    if (padding == "border") outside_ = Outside::kBorder;
    if (padding == "reflection") outside_ = Outside::kReflection;
    aligns_corners_ = attributes.get_int("align_corners") != 0;
  }

  /// Taps of a place along one axis, at most.
  int axis_taps() const { return mode_ == Mode::kNearest ? 1 : mode_ == Mode::kLinear ? 2 : 4; }

  AxisTaps around(double value, std::int64_t size) const {
    const double x = place(value, static_cast<double>(size));
    AxisTaps taps;
    if (mode_ == Mode::kNearest) {
      taps.add(element_at(floor_of(std::nearbyint(x)), size), 1);
      return taps;
    }
    const std::int64_t left = floor_of(x);
    const double over = x - static_cast<double>(left);
    if (mode_ == Mode::kLinear) {
      taps.add(element_at(left, size), 1 - over);
      taps.add(element_at(left + 1, size), over);
      return taps;
    }
    for (int k = -1; k <= 2; ++k) taps.add(element_at(left + k, size), cubic_weight(over - k));
    return taps;
  }

 private:
  /// Grid values from -1 to 1 span the image: between the centres of its outer elements with
  /// `align_corners`, else between their outer edges.
  double place(double value, double size) const {
    constexpr double kFar = 1e9;  // what is farther is as far; the number stays an integer's
    double x = aligns_corners_ ? (value + 1) / 2 * (size - 1) : ((value + 1) * size - 1) / 2;
    if (!std::isfinite(x)) x = -1;
    if (mode_ == Mode::kNearest) x = std::nearbyint(x);
    if (mode_ == Mode::kCubic) return std::clamp(x, -kFar, kFar);
    if (outside_ == Outside::kBorder) return std::clamp(x, 0.0, size - 1);
    if (outside_ == Outside::kReflection && (x < 0 || x > size - 1)) {
      return reflect(x, -margin(), size - 1 + margin());
    }
    return std::clamp(x, -kFar, kFar);
  }

  /// The element that stands for position `at`; -1 for none, which counts as 0.
  std::int64_t element_at(std::int64_t at, std::int64_t size) const {
    if (at >= 0 && at < size) return at;
    if (outside_ == Outside::kZeros) return -1;
    if (outside_ == Outside::kBorder) return at < 0 ? 0 : size - 1;
    const auto last = static_cast<double>(size - 1);
    const double inside = reflect(static_cast<double>(at), -margin(), last + margin());
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::nearbyint(inside)), 0, size - 1);
  }
  double margin() const { return aligns_corners_ ? 0 : 0.5; }

  Mode mode_ = Mode::kLinear;
  Outside outside_ = Outside::kZeros;
  bool aligns_corners_ = false;
};

Status check_grid_sample(const sluice_op& op) {
  const Status status = check_plain_f32(op);
  const std::int32_t rank = op.inputs[0].tensor.rank;
  if (!status.is_ok()) return status;
  if (rank < 3 || rank > 2 + kAxes || op.inputs[1].tensor.rank != rank ||
      op.outputs[0].tensor.rank != rank) {
    return unimplemented("other ranks");
  }
  const plugin::Attributes attributes(op);
  const auto is_one_of = [&](const char* name, const char* fallback,
                             std::initializer_list<std::string_view> all) {
    return std::ranges::find(all, attributes.get_text(name, fallback)) != all.end();
  };
  const bool fits =
      is_one_of("mode", "linear", {"linear", "bilinear", "nearest", "cubic", "bicubic"}) &&
      is_one_of("padding_mode", "zeros", {"zeros", "border", "reflection"});
  return fits ? plugin::ok() : unimplemented("mode");
}

/// The taps of some points are found once and serve all channels. Where there are many of them, the
/// image is brought into c16 first: a tap is then a few vectors of channels.
class GridSample : public Kernel {
 public:
  GridSample(const sluice_op& op, Isa isa)
      : Kernel(op),
        sampler_(op),
        gather_(SLUICE_CPU_PICK(isa, gather_sums)),
        gather_block_(SLUICE_CPU_PICK(isa, gather_block_sums)),
        to_block_(SLUICE_CPU_PICK(isa, planes_to_block)),
        to_planes_(SLUICE_CPU_PICK(isa, block_to_planes)) {
    const auto x = plugin::dims_of(op.inputs[0].tensor);
    const auto y = plugin::dims_of(op.outputs[0].tensor);
    rank_ = static_cast<int>(x.size()) - 2;
    batch_ = x[0];
    channels_ = x[1];
    for (int d = 0; d < rank_; ++d) {
      size_[kAxes - rank_ + d] = x[static_cast<std::size_t>(d) + 2];
    }
    points_ = product(y, 2, static_cast<std::int64_t>(y.size()));
    for (int d = 0; d < rank_; ++d) points_together_ /= sampler_.axis_taps();
    const std::int64_t taps = kTapsTogether / points_together_;
    has_blocks_ = taps > 1 && channels_ >= kChannels / 2 && points_ * taps >= 2 * pixels() &&
                  blocks_bytes() <= kMostBlockBytes;
  }

  int phases() const override { return has_blocks_ ? 2 : 1; }

  void run(const Run& run, int phase, const Worker& worker) const override {
    if (has_blocks_ && phase == 0) return fill_blocks(run, worker);
    GatherSums g;
    g.index = reinterpret_cast<std::int32_t*>(worker.scratch);
    g.weights = reinterpret_cast<float*>(g.index + kTapsTogether);
    g.ends = reinterpret_cast<std::int32_t*>(g.weights + kTapsTogether);
    const std::int64_t groups = (points_ + points_together_ - 1) / points_together_;
    const std::int64_t blocks = this->blocks();
    const Share share = share_of(batch_ * groups * blocks, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t n = i / blocks / groups;
      const std::int64_t first = i / blocks % groups * points_together_;
      const std::int64_t end = std::min(first + points_together_, points_);
      if (i == share.begin || i % blocks == 0) {
        g.sums = g.taps = 0;
        for (std::int64_t p = first; p < end; ++p) {
          find_taps(run.input<float>(1) + (n * points_ + p) * rank_, g);
        }
      }
      if (has_blocks_) {
        gather_blocks(run, g, n, i % blocks, first);
        continue;
      }
      const std::int64_t channel = i % blocks * kChannels;
      const std::int64_t plane = n * channels_ + channel;
      gather_(g, {.plane = run.input<float>(0) + plane * pixels(),
                  .plane_size = pixels(),
                  .output = run.output<float>(0) + plane * points_ + first,
                  .output_size = points_,
                  .planes = std::min(kChannels, channels_ - channel)});
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {batch_, channels_, pixels(), sizeof(float)});
    extents.reads(1, {batch_, points_, rank_, sizeof(float)});
    extents.writes(0, {batch_, channels_, points_, sizeof(float)});
  }
  std::int64_t scratch_bytes() const override { return kTapsTogether * 12; }
  std::int64_t shared_bytes() const override { return has_blocks_ ? blocks_bytes() : 0; }
  double cost_ns() const override {
    return static_cast<double>(batch_ * points_) * (20 + 2 * static_cast<double>(channels_));
  }

 private:
  std::int64_t pixels() const { return size_[0] * size_[1] * size_[2]; }
  std::int64_t blocks() const { return divide_up(channels_, kChannels); }
  /// Bytes of the whole input in c16; a number above kMostBlockBytes if it is larger.
  std::int64_t blocks_bytes() const {
    std::int64_t bytes = kChannels * static_cast<std::int64_t>(sizeof(float));
    for (const std::int64_t dim : {batch_, blocks(), pixels()}) {
      if (__builtin_mul_overflow(bytes, dim, &bytes)) return kMostBlockBytes + 1;
    }
    return bytes;
  }
  std::int64_t channels_of(std::int64_t block) const {
    return std::min(kChannels, channels_ - block * kChannels);
  }

  void fill_blocks(const Run& run, const Worker& worker) const {
    const std::int64_t pieces = divide_up(pixels(), kPixelsTogether);
    const Share share = share_of(batch_ * blocks() * pieces, 1, worker);
    auto* to = reinterpret_cast<float*>(run.shared());
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t block = i / pieces;  // of all images
      const std::int64_t first = i % pieces * kPixelsTogether;
      const std::int64_t plane = block / blocks() * channels_ + block % blocks() * kChannels;
      to_block_(run.input<float>(0) + plane * pixels() + first, pixels(),
                channels_of(block % blocks()), std::min(kPixelsTogether, pixels() - first),
                to + (block * pixels() + first) * kChannels);
    }
  }

  /// The sums of a block of image `n`, of points from `first` on.
  void gather_blocks(const Run& run, const GatherSums& g, std::int64_t n, std::int64_t block,
                     std::int64_t first) const {
    alignas(64) float sums[kSumsTogether * kChannels];
    const float* from = reinterpret_cast<const float*>(run.shared()) +
                        (n * blocks() + block) * pixels() * kChannels;
    float* to = run.output<float>(0) + (n * channels_ + block * kChannels) * points_ + first;
    for (std::int64_t i = 0; i < g.sums; i += kSumsTogether) {
      const std::int64_t count = std::min(kSumsTogether, g.sums - i);
      gather_block_(g, from, i, count, sums);
      to_planes_(sums, count, channels_of(block), to + i, points_);
    }
  }

  void find_taps(const float* point, GatherSums& g) const {
    AxisTaps axes[kAxes];
    for (int d = 0; d < kAxes - rank_; ++d) axes[d].add(0, 1);
    for (int d = 0; d < rank_; ++d) {  // the grid names the last axis first
      axes[kAxes - 1 - d] = sampler_.around(point[d], size_[kAxes - 1 - d]);
    }
    for (int z = 0; z < axes[0].count; ++z) {
      for (int y = 0; y < axes[1].count; ++y) {
        const std::int64_t row = (axes[0].at[z] * size_[1] + axes[1].at[y]) * size_[2];
        const double weight = axes[0].weights[z] * axes[1].weights[y];
        for (int x = 0; x < axes[2].count; ++x) {
          g.add(row + axes[2].at[x], weight * axes[2].weights[x]);
        }
      }
    }
    g.finish_sum();
  }

  Sampler sampler_;
  decltype(&portable::gather_sums) gather_;
  decltype(&portable::gather_block_sums) gather_block_;
  decltype(&portable::planes_to_block) to_block_;
  decltype(&portable::block_to_planes) to_planes_;
  bool has_blocks_ = false;
  int rank_ = 2;
  std::int64_t batch_ = 1, channels_ = 1, points_ = 1;
  std::int64_t points_together_ = kTapsTogether;
  std::int64_t size_[kAxes] = {1, 1, 1};
};

Status make_grid_sample(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto x = plugin::dims_of(op.inputs[0].tensor);
  const auto grid = plugin::dims_of(op.inputs[1].tensor);
  const auto rank = static_cast<std::int64_t>(x.size());
  if (plugin::num_elements(op.inputs[0].tensor) == 0 || product(x, 2, rank) > INT32_MAX) {
    return unimplemented("an empty or a very large image");
  }
  if (grid[0] != x[0] || grid.back() != rank - 2) {
    return plugin::invalid_argument("GridSample: the grid does not fit the image");
  }
  *kernel = std::make_unique<GridSample>(op, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> grid_sample_entries() {
  return {{.kind = "GridSample",
           .check = check_grid_sample,
           .make = make_grid_sample,
           .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
