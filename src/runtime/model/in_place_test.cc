#include "runtime/model/in_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/testing/exec_testing.h"

namespace sluice::runtime {
namespace {

using ::testing::ElementsAre;

std::vector<bool> in_place(std::string_view graph) {
  return find_in_place_inputs(exec::testing::executable_of(graph).graph);
}

TEST(FindInPlaceInputs, NumericInputsAreReadInPlace) {
  EXPECT_THAT(in_place(R"(
subgraph @0 "main" {
  input %x : f32[2,3]
  input %z : f32[4]
  const %s : i64[2] = [3, 2]
  const %w : f32[2,2] = splat 1.0
  [%v : f32[3,2]] = Reshape.25[%x, %s]
  [%m : f32[3,2]] = MatMul.13[%v, %w]
  [%r : f32[4]] = Relu.14[%z]
  output [%m, %r]
}
)"),
              ElementsAre(true, true));
}

TEST(FindInPlaceInputs, IndexAndShapeInputsAreCopied) {
  EXPECT_THAT(in_place(R"(
subgraph @0 "main" {
  input %counted : f32[4]
  input %indices : i64[2]
  input %data : f32[4]
  input %viewed : f32[4]
  input %handed_on : f32[4]
  const %s : i64[2] = [2, 2]
  [%n : unknown] = NonZero.13[%counted]
  [%g : f32[2]] = Gather.13[%data, %indices] {axis = 0}
  [%v : f32[2,2]] = Reshape.25[%viewed, %s]
  [%k : unknown] = NonZero.13[%v]
  [%i : f32[2]] = Relu.14[%g]
  output [%n, %i, %k, %handed_on]
}
)"),
              ElementsAre(false, false, false, false, false));
}

}  // namespace
}  // namespace sluice::runtime
