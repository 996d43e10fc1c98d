// Convolutions, pools, samples and transforms whose operands do not fit.
#include "conformance/hostile_cases.h"

namespace sluice::conformance {
namespace {

using ir::ElementType;

void add_convolutions(std::vector<HostileCase>& cases) {
  cases.insert(
      cases.end(),
      {bad("Conv", 22, "other channels").f32({1, 2, 3, 3}).f32({1, 3, 1, 1}).to_f32({1, 1, 3, 3}),
       bad("Conv", 22, "no groups")
           .f32({1, 2, 3, 3})
           .f32({1, 2, 1, 1})
           .with("group", 0)
           .to_f32({1, 1, 3, 3}),
       bad("Conv", 22, "steps of 0")
           .f32({1, 1, 3, 3})
           .f32({1, 1, 1, 1})
           .with_ints("strides", {0, 1})
           .to_f32({1, 1, 3, 3}),
       bad("Conv", 22, "negative dilations")
           .f32({1, 1, 3, 3})
           .f32({1, 1, 2, 2})
           .with_ints("dilations", {-1, 1})
           .to_f32({1, 1, 2, 2}),
       bad("Conv", 22, "a bias too short")
           .f32({1, 1, 3, 3})
           .f32({2, 1, 1, 1})
           .f32({1})
           .to_f32({1, 2, 3, 3}),
       bad("ConvTranspose", 22, "other channels")
           .f32({1, 2, 3, 3})
           .f32({3, 1, 1, 1})
           .to_f32({1, 1, 3, 3}),
       bad("ConvInteger", 10, "other channels")
           .input(ElementType::kU8, {1, 2, 3, 3})
           .input(ElementType::kU8, {1, 3, 1, 1})
           .to(ElementType::kI32, {1, 1, 3, 3}),
       bad("DeformConv", 22, "offsets too few")
           .f32({1, 1, 3, 3})
           .f32({1, 1, 2, 2})
           .f32({1, 4, 2, 2})
           .to_f32({1, 1, 2, 2}),
       bad("CausalConvWithState", 27, "other channels")
           .f32({1, 2, 4})
           .f32({3, 1, 2})
           .to_f32({1, 2, 4}),
       bad("CausalConvWithState", 27, "a state too short")
           .f32({1, 2, 4})
           .f32({2, 1, 3})
           .absent()
           .f32({1, 2, 1})
           .to_f32({1, 2, 4})});
}

void add_pools(std::vector<HostileCase>& cases) {
  cases.insert(
      cases.end(),
      {bad("MaxPool", 22, "an empty window")
           .f32({1, 1, 3, 3})
           .with_ints("kernel_shape", {0, 2})
           .to_f32({1, 1, 3, 2}),
       bad("AveragePool", 22, "windows of another rank")
           .f32({1, 1, 3, 3})
           .with_ints("kernel_shape", {2})
           .to_f32({1, 1, 2, 3}),
       bad("LpPool", 22, "negative steps")
           .f32({1, 1, 3})
           .with_ints("kernel_shape", {2})
           .with_ints("strides", {-1})
           .to_f32({1, 1, 2}),
       bad("GlobalAveragePool", 22, "another output").f32({1, 2, 3, 3}).to_f32({1, 1, 1, 1}),
       bad("LRN", 13, "a window of 0").f32({1, 2, 2, 2}).with("size", 0).to_f32({1, 2, 2, 2})});
}

void add_samples(std::vector<HostileCase>& cases) {
  cases.insert(cases.end(), {bad("GridSample", 22, "a grid of another rank")
                                 .f32({1, 1, 2, 2})
                                 .f32({1, 2, 2, 3})
                                 .to_f32({1, 1, 2, 2}),
                             bad("AffineGrid", 20, "theta of another rank")
                                 .f32({1, 2, 4})
                                 .i64({4}, {1, 1, 2, 2})
                                 .to_f32({1, 2, 2, 2}),
                             bad("Col2Im", 18, "columns that do not fill the image")
                                 .f32({1, 4, 3})
                                 .i64({2}, {2, 2})
                                 .i64({2}, {2, 2})
                                 .to_f32({1, 1, 2, 2}),
                             bad("Resize", 19, "scales of another rank")
                                 .f32({1, 1, 2, 2})
                                 .absent()
                                 .f32({3}, {1, 1, 2})
                                 .to_f32({1, 1, 2, 4}),
                             bad("Resize", 19, "an unknown mode")
                                 .f32({1, 1, 2, 2})
                                 .absent()
                                 .f32({4}, {1, 1, 1, 2})
                                 .with("mode", "quintic")
                                 .to_f32({1, 1, 2, 4}),
                             bad("NonMaxSuppression", 11, "scores of other boxes")
                                 .f32({1, 2, 4})
                                 .f32({1, 1, 3})
                                 .to(ElementType::kI64, {3, 3})});
}

void add_signals(std::vector<HostileCase>& cases) {
  cases.insert(
      cases.end(),
      {bad("DFT", 20, "no parts").f32({1, 4, 3}).to_f32({1, 4, 2}),
       bad("DFT", 20, "a length of 0").f32({1, 4, 1}).i64({}, {0}).to_f32({1, 0, 2}),
       bad("DFT", 20, "along the parts").f32({1, 4, 2}).absent().i64({}, {2}).to_f32({1, 4, 2}),
       bad("STFT", 17, "steps of 0").f32({1, 8, 1}).i64({}, {0}).f32({4}).to_f32({1, 2, 3, 2}),
       bad("STFT", 17, "frames longer than the signal")
           .f32({1, 8, 1})
           .i64({}, {1})
           .absent()
           .i64({}, {9})
           .to_f32({1, 1, 5, 2}),
       bad("MelWeightMatrix", 17, "negative bins")
           .i64({}, {-1})
           .i64({}, {8})
           .i64({}, {8000})
           .f32({}, {0})
           .f32({}, {4000})
           .to_f32({5, 1})});
}

}  // namespace

std::vector<HostileCase> hostile_images() {
  std::vector<HostileCase> cases;
  add_convolutions(cases);
  add_pools(cases);
  add_samples(cases);
  add_signals(cases);
  return cases;
}

}  // namespace sluice::conformance
