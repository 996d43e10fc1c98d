// Attributes from which a kernel could derive another shape than it was given, and stray ones.
#include "conformance/hostile_cases.h"

namespace sluice::conformance {
namespace {

using ir::ElementType;

/// `axes` of an older version: the kernel follows the input, or writes more than the output has.
void add_stray_axes(std::vector<HostileCase>& cases) {
  for (const char* kind :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
        "ReduceSumSquare", "ReduceProd", "ReduceLogSum", "ReduceLogSumExp"}) {
    cases.push_back(bad(kind, 18, "axes of an older version")
                        .f32({300, 8})
                        .with_ints("axes", {1})
                        .with("keepdims", 0)
                        .to_f32({300}));
    cases.push_back(bad(kind, 18, "axes that the output does not have")
                        .f32({300, 8})
                        .i64({1}, {1})
                        .with("keepdims", 0)
                        .to_f32({8}));
  }
}

void add_rows(std::vector<HostileCase>& cases) {
  cases.insert(
      cases.end(),
      {bad("Softmax", 13, "fewer rows").f32({30, 8}).with("axis", 1).to_f32({29, 8}),
       bad("LayerNormalization", 17, "fewer rows").f32({30, 8}).f32({8}).to_f32({30, 7}),
       bad("CumSum", 14, "fewer rows").f32({30, 8}).i64({}, {0}).to_f32({29, 8}),
       bad("ArgMax", 13, "another axis").f32({30, 8}).with("axis", 1).to(ElementType::kI64, {8}),
       bad("TopK", 11, "fewer lines")
           .f32({30, 8})
           .i64({1}, {2})
           .with("axis", 1)
           .to_f32({29, 2})
           .to(ElementType::kI64, {29, 2}),
       bad("GroupNormalization", 21, "fewer channels")
           .f32({2, 4, 8})
           .f32({4})
           .f32({4})
           .with("num_groups", 2)
           .to_f32({2, 4, 7}),
       bad("InstanceNormalization", 6, "fewer channels")
           .f32({2, 4, 8})
           .f32({4})
           .f32({4})
           .to_f32({2, 3, 8})});
}

void add_copies(std::vector<HostileCase>& cases) {
  cases.insert(
      cases.end(),
      {bad("Transpose", 13, "the output of another perm")
           .f32({3, 40})
           .with_ints("perm", {1, 0})
           .to_f32({3, 40}),
       bad("Concat", 13, "another axis").f32({4, 8}).f32({4, 8}).with("axis", 1).to_f32({8, 8}),
       bad("Split", 18, "another axis")
           .f32({4, 8})
           .i64({2}, {4, 4})
           .with("axis", 0)
           .to_f32({4, 4})
           .to_f32({4, 4}),
       bad("Gather", 13, "another axis")
           .f32({4, 8})
           .i64({2}, {0, 1})
           .with("axis", 1)
           .to_f32({2, 8}),
       bad("GatherND", 13, "batches that are not in the output")
           .f32({2, 3, 4})
           .i64({2, 1}, {0, 1})
           .with("batch_dims", 1)
           .to_f32({2, 3, 4}),
       bad("Slice", 13, "a step that the output does not know")
           .f32({40})
           .i64({1}, {0})
           .i64({1}, {40})
           .i64({1}, {0})
           .i64({1}, {4})
           .to_f32({40}),
       bad("Expand", 13, "a smaller output").f32({4, 8}).i64({2}, {4, 8}).to_f32({4, 1})});
}

void add_images(std::vector<HostileCase>& cases) {
  cases.insert(
      cases.end(),
      {bad("MaxPool", 12, "windows that the output does not have")
           .f32({1, 2, 8, 8})
           .with_ints("kernel_shape", {2, 2})
           .with_ints("strides", {2, 2})
           .to_f32({1, 3, 4, 4}),
       bad("AveragePool", 19, "a window past 2^60 elements")
           .f32({1, 1, 4, 4})
           .with_ints("kernel_shape", {1 << 30, 1 << 30})
           .with_ints("pads", {1 << 29, 1 << 29, 1 << 29, 1 << 29})
           .to_f32({1, 1, 5, 5}),
       bad("GlobalAveragePool", 1, "fewer channels").f32({1, 4, 3, 3}).to_f32({1, 3, 1, 1}),
       bad("Resize", 19, "channels that stay")
           .f32({1, 2, 4, 4})
           .absent()
           .absent()
           .i64({4}, {1, 2, 8, 8})
           .to_f32({1, 2, 64})});
}

void add_types(std::vector<HostileCase>& cases) {
  cases.insert(
      cases.end(),
      {bad("Relu", 14, "a smaller element").f32({8}).to(ElementType::kF16, {8}),
       bad("Sqrt", 13, "a smaller element")
           .input(ElementType::kF64, {8})
           .to(ElementType::kF32, {8}),
       bad("Equal", 19, "elements that are no bools").f32({8}).f32({8}).to(ElementType::kI64, {8}),
       bad("Transpose", 13, "a smaller element").f32({2, 3}).to(ElementType::kU8, {3, 2}),
       bad("CumProd", 26, "a smaller element")
           .input(ElementType::kI64, {8})
           .i64({}, {0})
           .to(ElementType::kI32, {8}),
       bad("Where", 16, "a smaller element")
           .input(ElementType::kBool, {8})
           .f32({8})
           .f32({8})
           .to(ElementType::kU8, {8}),
       bad("Gather", 13, "a smaller element").f32({4}).i64({2}, {0, 1}).to(ElementType::kF16, {2}),
       bad("Unique", 11, "a smaller element").f32({4}).to(ElementType::kU8, {4})});
}

}  // namespace

std::vector<HostileCase> hostile_attributes() {
  std::vector<HostileCase> cases;
  add_stray_axes(cases);
  add_rows(cases);
  add_copies(cases);
  add_images(cases);
  add_types(cases);
  return cases;
}

}  // namespace sluice::conformance
