#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "plugin/fallback.h"
#include "testing/layout_testing.h"
#include "testing/op_testing.h"

namespace sluice::cpu::testing {

/// An operation over one image tensor, to be run in both layouts.
struct ImageCase {
  const char* kind;
  int version;
  Shape input;                           ///< [N, C, (H,) W]
  Shape output;                          ///< likewise
  std::function<void(TestOp&)> details;  ///< further inputs and attributes
};

inline std::int64_t pixels_of(const Shape& dims) {
  std::int64_t pixels = 1;
  for (std::size_t i = 2; i < dims.size(); ++i) pixels *= dims[i];
  return pixels;
}

inline std::vector<float> image_values(const ImageCase& c) {
  return random_floats(c.input[0] * c.input[1] * pixels_of(c.input), 5);
}

inline TestOp row_major_op(const ImageCase& c) {
  TestOp op(c.kind, "", c.version);
  op.input(c.input, image_values(c)).output(c.output);
  c.details(op);
  return op;
}

inline TestOp blocked_op(const ImageCase& c) {
  TestOp op(c.kind, "", c.version);
  op.blocked_input(c.input,
                   to_blocked(image_values(c), c.input[0], c.input[1], pixels_of(c.input)));
  op.blocked_output(c.output);
  c.details(op);
  return op;
}

inline std::vector<float> reference_result(const ImageCase& c) {
  TestOp op = row_major_op(c);
  std::unique_ptr<Kernel> kernel;
  Status status = check_fallback(op.op());
  if (status.is_ok()) status = make_fallback(op.op(), &kernel);
  if (status.is_ok()) status = op.run(*kernel, 1);
  EXPECT_TRUE(status.is_ok()) << status.text;
  return op.result();
}

/// The fast kernels, in every instruction set and in the layouts asked for, agree with the
/// reference.
inline void expect_like_reference(const ImageCase& c, bool row_major, bool blocked) {
  const std::vector<float> want = reference_result(c);
  for (const Backend& backend : backends_to_test()) {
    for (const int workers : {1, 3}) {
      if (row_major) {
        TestOp op = row_major_op(c);
        const Status status = op.run(backend, workers);
        ASSERT_TRUE(status.is_ok()) << status.text;
        EXPECT_LE(largest_difference(op.result(), want), 1e-5) << c.kind << " row-major";
      }
      if (blocked) {
        TestOp op = blocked_op(c);
        const Status status = op.run(backend, workers);
        ASSERT_TRUE(status.is_ok()) << status.text;
        const auto got = to_planes(op.result(), c.output[0], c.output[1], pixels_of(c.output));
        EXPECT_LE(largest_difference(got, want), 1e-5) << c.kind << " c16";
      }
    }
  }
}

}  // namespace sluice::cpu::testing
