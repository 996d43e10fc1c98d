// Inconsistent shapes and attributes: moving, joining, reducing.
#include "conformance/hostile_cases.h"

namespace sluice::conformance {
namespace {

using ir::ElementType;

void add_moves(std::vector<HostileCase>& cases) {
  cases.insert(
      cases.end(),
      {bad("Transpose", 13, "an axis twice").f32({2, 3}).with_ints("perm", {0, 0}).to_f32({2, 3}),
       bad("Transpose", 13, "an axis outside").f32({2, 3}).with_ints("perm", {0, 2}).to_f32({2, 3}),
       bad("Transpose", 13, "too few axes").f32({2, 3}).with_ints("perm", {0}).to_f32({2, 3}),
       bad("Transpose", 13, "another output").f32({2, 3}).with_ints("perm", {1, 0}).to_f32({2, 3}),
       bad("Reshape", 14, "more elements").f32({4}).i64({1}, {5}).to_f32({5}),
       bad("Expand", 13, "no broadcast").f32({2}).i64({1}, {3}).to_f32({3}),
       bad("Tile", 13, "another size").f32({2}).i64({1}, {3}).to_f32({7}),
       bad("Tile", 13, "negative repeats").f32({2}).i64({1}, {-1}).to_f32({2}),
       bad("Slice", 13, "another size").f32({4}).i64({1}, {0}).i64({1}, {2}).to_f32({4}),
       bad("Slice", 13, "a step of 0")
           .f32({4})
           .i64({1}, {0})
           .i64({1}, {2})
           .i64({1}, {0})
           .i64({1}, {0})
           .to_f32({2}),
       bad("Slice", 13, "axis outside")
           .f32({4})
           .i64({1}, {0})
           .i64({1}, {2})
           .i64({1}, {1})
           .to_f32({2}),
       bad("Pad", 13, "another size").f32({2}).i64({2}, {1, 1}).to_f32({5}),
       bad("Pad", 13, "too few pads").f32({2, 2}).i64({2}, {1, 1}).to_f32({4, 2}),
       bad("Pad", 13, "reflection of nothing")
           .f32({0})
           .i64({2}, {1, 1})
           .with("mode", "reflect")
           .to_f32({2})});
}

void add_joins(std::vector<HostileCase>& cases) {
  cases.insert(cases.end(),
               {bad("Concat", 13, "rows of other lengths")
                    .f32({1, 2})
                    .f32({1, 3})
                    .with("axis", 0)
                    .to_f32({2, 2}),
                bad("Concat", 13, "axis outside").f32({2}).f32({2}).with("axis", 1).to_f32({4}),
                bad("Concat", 13, "another size").f32({2}).f32({2}).with("axis", 0).to_f32({3}),
                bad("Split", 18, "parts past the end")
                    .f32({4})
                    .i64({2}, {2, 3})
                    .with("axis", 0)
                    .to_f32({2})
                    .to_f32({3}),
                bad("DepthToSpace", 13, "channels that do not divide")
                    .f32({1, 3, 2, 2})
                    .with("blocksize", 2)
                    .to_f32({1, 1, 4, 4}),
                bad("DepthToSpace", 13, "blocks of nothing")
                    .f32({1, 4, 2, 2})
                    .with("blocksize", 0)
                    .to_f32({1, 1, 4, 4}),
                bad("SpaceToDepth", 13, "sides that do not divide")
                    .f32({1, 1, 3, 2})
                    .with("blocksize", 2)
                    .to_f32({1, 4, 1, 1}),
                bad("Trilu", 14, "a vector").f32({3}).to_f32({3}),
                bad("EyeLike", 9, "three axes").f32({1, 2, 3}).to_f32({1, 2, 3}),
                bad("Compress", 11, "axis outside")
                    .f32({2})
                    .input(ElementType::kBool, {2})
                    .with("axis", 1)
                    .to_f32({2}),
                bad("Unique", 11, "axis outside").f32({2}).with("axis", -2).to_f32({2}),
                bad("CenterCropPad", 18, "another rank").f32({2, 2}).i64({2}, {1, 1}).to_f32({1})});
}

void add_reductions(std::vector<HostileCase>& cases) {
  cases.insert(
      cases.end(),
      {bad("ReduceSum", 13, "axis outside").f32({2, 3}).i64({1}, {2}).to_f32({2, 1}),
       bad("ReduceMax", 18, "another size").f32({2, 3}).i64({1}, {1}).to_f32({2, 3}),
       bad("ArgMax", 13, "axis outside").f32({2}).with("axis", 1).to(ElementType::kI64, {1}),
       bad("ArgMax", 13, "of nothing").f32({0}).with("axis", 0).to(ElementType::kI64, {1}),
       bad("Softmax", 13, "axis outside").f32({2}).with("axis", 1).to_f32({2}),
       bad("Hardmax", 13, "axis outside").f32({2}).with("axis", -2).to_f32({2}),
       bad("LogSoftmax", 13, "another size").f32({2}).with("axis", 0).to_f32({3}),
       bad("LpNormalization", 1, "axis outside")
           .f32({2})
           .with("axis", 3)
           .with("p", 2)
           .to_f32({2})});
}

void add_elementwise(std::vector<HostileCase>& cases) {
  cases.insert(
      cases.end(),
      {bad("Add", 14, "no broadcast").f32({2}).f32({3}).to_f32({3}),
       bad("Add", 14, "another size").f32({2}).f32({2}).to_f32({4}),
       bad("Add", 14, "other types").f32({2}).i64({2}, {1, 1}).to_f32({2}),
       bad("Relu", 14, "another size").f32({2}).to_f32({4}),
       bad("Where", 16, "no broadcast")
           .input(ElementType::kBool, {2})
           .f32({3})
           .f32({1})
           .to_f32({3}),
       bad("Clip", 13, "bounds of two").f32({2}).f32({2}).to_f32({2}),
       bad("PRelu", 16, "a slope that stretches the data").f32({1}).f32({3}).to_f32({1}),
       bad("BitShift", 11, "no direction")
           .input(ElementType::kU8, {1})
           .input(ElementType::kU8, {1})
           .with("direction", "UP")
           .to(ElementType::kU8, {1}),
       bad("Gelu", 20, "an unknown form").f32({2}).with("approximate", "cubic").to_f32({2}),
       bad("Max", 13, "no broadcast").f32({2}).f32({3}).to_f32({3}),
       bad("SwiGLU", 28, "no broadcast").f32({2}).f32({3}).to_f32({2})});
}

void add_products(std::vector<HostileCase>& cases) {
  cases.insert(
      cases.end(),
      {bad("MatMul", 13, "other inner sizes").f32({2, 3}).f32({2, 3}).to_f32({2, 3}),
       bad("MatMul", 13, "another output").f32({2, 3}).f32({3, 4}).to_f32({2, 3}),
       bad("MatMul", 13, "stacks that do not broadcast")
           .f32({2, 2, 3})
           .f32({3, 3, 4})
           .to_f32({2, 2, 4}),
       bad("Gemm", 13, "other inner sizes").f32({2, 3}).f32({2, 3}).to_f32({2, 3}),
       bad("Gemm", 13, "an addend too large").f32({2, 3}).f32({3, 4}).f32({3, 4}).to_f32({2, 4}),
       bad("MatMulInteger", 10, "zero points that do not fit")
           .input(ElementType::kU8, {2, 3})
           .input(ElementType::kU8, {3, 2})
           .input(ElementType::kU8, {3})
           .to(ElementType::kI32, {2, 2}),
       bad("Det", 11, "a matrix that is not square").f32({2, 3}).to_f32({}),
       bad("Einsum", 12, "an index of two sizes")
           .f32({2, 3})
           .f32({4, 2})
           .with("equation", "ij,jk->ik")
           .to_f32({2, 2}),
       bad("Einsum", 12, "more terms than inputs").f32({2}).with("equation", "i,i->").to_f32({}),
       bad("Einsum", 12, "an equation of nonsense").f32({2}).with("equation", "->->").to_f32({2})});
}

}  // namespace

std::vector<HostileCase> hostile_shapes() {
  std::vector<HostileCase> cases;
  add_moves(cases);
  add_joins(cases);
  add_reductions(cases);
  add_elementwise(cases);
  add_products(cases);
  return cases;
}

}  // namespace sluice::conformance
