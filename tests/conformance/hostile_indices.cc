// Positions, counts and divisors that come from data.
#include "conformance/hostile_cases.h"

namespace sluice::conformance {
namespace {

using ir::ElementType;
constexpr double kHuge = 9.0e18;

void add_gathers(std::vector<HostileCase>& cases) {
  cases.insert(
      cases.end(),
      {bad("Gather", 13, "index past the end")
           .says("index 3 is outside axis 0")
           .f32({3})
           .i64({1}, {3})
           .to_f32({1}),
       bad("Gather", 13, "index before the start")
           .says("index -4 is outside axis 0")
           .f32({3})
           .i64({1}, {-4})
           .to_f32({1}),
       bad("Gather", 13, "a huge index")
           .says("index 9000000000000000000 is outside axis 0")
           .f32({3})
           .i64({1}, {kHuge})
           .to_f32({1}),
       bad("Gather", 13, "an index into nothing")
           .says("index 0 is outside axis 0")
           .f32({0, 2})
           .i64({1}, {0})
           .to_f32({1, 2}),
       bad("Gather", 13, "axis outside").f32({3}).i64({1}, {0}).with("axis", 1).to_f32({1}),
       bad("GatherElements", 13, "index past the end")
           .says("index 2 is outside axis 0")
           .f32({2, 2})
           .i64({1, 2}, {2, 0})
           .to_f32({1, 2}),
       bad("GatherElements", 13, "more rows than data")
           .f32({1, 2})
           .i64({2, 2}, {0, 0, 0, 0})
           .with("axis", 1)
           .to_f32({2, 2}),
       bad("GatherND", 13, "coordinate past the end")
           .says("index 2 is outside axis 1")
           .f32({2, 2})
           .i64({1, 2}, {1, 2})
           .to_f32({1}),
       bad("GatherND", 13, "too many coordinates").f32({2}).i64({1, 2}, {0, 0}).to_f32({1})});
}

void add_scatters(std::vector<HostileCase>& cases) {
  cases.insert(cases.end(), {bad("ScatterElements", 18, "index past the end")
                                 .says("index 3 is outside axis 0")
                                 .f32({3})
                                 .i64({1}, {3})
                                 .f32({1})
                                 .to_f32({3}),
                             bad("ScatterElements", 18, "updates of another shape")
                                 .f32({3})
                                 .i64({2}, {0, 1})
                                 .f32({1})
                                 .to_f32({3}),
                             bad("ScatterElements", 18, "unknown reduction")
                                 .f32({3})
                                 .i64({1}, {0})
                                 .f32({1})
                                 .with("reduction", "median")
                                 .to_f32({3}),
                             bad("ScatterND", 18, "coordinate before the start")
                                 .says("index -4 is outside axis 0")
                                 .f32({3})
                                 .i64({1, 1}, {-4})
                                 .f32({1})
                                 .to_f32({3}),
                             bad("ScatterND", 18, "updates too short")
                                 .f32({3, 4})
                                 .i64({1, 1}, {0})
                                 .f32({1, 3})
                                 .to_f32({3, 4}),
                             bad("TensorScatter", 24, "written past the end")
                                 .says("index 2 is outside axis 1")
                                 .f32({1, 3, 2})
                                 .f32({1, 2, 2})
                                 .i64({1}, {2})
                                 .to_f32({1, 3, 2}),
                             bad("TensorScatter", 24, "written before the start")
                                 .says("index -1 is outside axis 1")
                                 .f32({1, 3, 2})
                                 .f32({1, 2, 2})
                                 .i64({1}, {-1})
                                 .to_f32({1, 3, 2})});
}

void add_counts(std::vector<HostileCase>& cases) {
  cases.insert(cases.end(), {bad("Div", 14, "integer division by zero")
                                 .input(ElementType::kI32, {2}, {1, 2})
                                 .input(ElementType::kI32, {2}, {1, 0})
                                 .to(ElementType::kI32, {2}),
                             bad("Mod", 13, "integer division by zero")
                                 .input(ElementType::kU8, {1}, {1})
                                 .input(ElementType::kU8, {1}, {0})
                                 .to(ElementType::kU8, {1}),
                             bad("TopK", 11, "k past the axis")
                                 .f32({3})
                                 .i64({1}, {4})
                                 .to_f32({4})
                                 .to(ElementType::kI64, {4}),
                             bad("TopK", 11, "axis outside")
                                 .f32({3})
                                 .i64({1}, {1})
                                 .with("axis", 2)
                                 .to_f32({1})
                                 .to(ElementType::kI64, {1}),
                             bad("OneHot", 11, "an output of another depth")
                                 .i64({2}, {0, 1})
                                 .i64({1}, {3})
                                 .f32({2}, {0, 1})
                                 .with("axis", 3)
                                 .to_f32({2, 3}),
                             bad("ReverseSequence", 10, "a sequence longer than the data")
                                 .says("length 3")
                                 .f32({2, 1})
                                 .i64({1}, {3})
                                 .to_f32({2, 1}),
                             bad("ReverseSequence", 10, "a negative length")
                                 .says("length -1")
                                 .f32({2, 1})
                                 .i64({1}, {-1})
                                 .to_f32({2, 1}),
                             bad("CumSum", 14, "axis outside").f32({2}).i64({}, {1}).to_f32({2})});
}

void add_regions(std::vector<HostileCase>& cases) {
  cases.insert(cases.end(), {bad("MaxUnpool", 22, "an index outside the image")
                                 .says("index 4 is outside")
                                 .f32({1, 1, 1, 1})
                                 .i64({1, 1, 1, 1}, {4})
                                 .with_ints("kernel_shape", {2, 2})
                                 .with_ints("strides", {2, 2})
                                 .to_f32({1, 1, 2, 2}),
                             bad("NegativeLogLikelihoodLoss", 13, "a label past the classes")
                                 .says("index 3 is outside axis 1")
                                 .f32({1, 3})
                                 .i64({1}, {3})
                                 .to_f32({}),
                             bad("SoftmaxCrossEntropyLoss", 13, "a negative label")
                                 .says("index -1 is outside axis 1")
                                 .f32({1, 3})
                                 .i64({1}, {-1})
                                 .to_f32({}),
                             bad("RoiAlign", 16, "an image that is not in the batch")
                                 .says("index 1 is outside axis 0")
                                 .f32({1, 1, 4, 4})
                                 .f32({1, 4}, {0, 0, 1, 1})
                                 .i64({1}, {1})
                                 .to_f32({1, 1, 1, 1}),
                             bad("MaxRoiPool", 1, "an image that is not in the batch")
                                 .says("index 1 is outside axis 0")
                                 .f32({1, 1, 4, 4})
                                 .f32({1, 5}, {1, 0, 0, 1, 1})
                                 .with_ints("pooled_shape", {1, 1})
                                 .to_f32({1, 1, 1, 1}),
                             bad("RotaryEmbedding", 23, "a position past the cache")
                                 .says("index 1 is outside axis 0")
                                 .f32({1, 1, 1, 2})
                                 .f32({1, 1})
                                 .f32({1, 1})
                                 .i64({1, 1}, {1})
                                 .to_f32({1, 1, 1, 2})});
}

}  // namespace

std::vector<HostileCase> hostile_indices() {
  std::vector<HostileCase> cases;
  add_gathers(cases);
  add_scatters(cases);
  add_counts(cases);
  add_regions(cases);
  return cases;
}

}  // namespace sluice::conformance
