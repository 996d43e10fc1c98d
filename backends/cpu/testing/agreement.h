#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugin/fallback.h"
#include "testing/op_testing.h"

namespace sluice::cpu {

/// How an operation is named, and how far its floats may be from the reference kernel's.
struct Agreement {
  const char* kind;
  int version = 18;
  const char* domain = "";
  float tolerance = 1e-5F;
  std::vector<int> float_outputs = {0};
  std::vector<int> double_outputs = {};  ///< all others must agree in every byte
};

template <typename T>
void expect_near_all(const std::vector<T>& got, const std::vector<T>& want,
                     const Agreement& about) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i]) || std::isinf(want[i])) {
      ASSERT_TRUE(std::isnan(want[i]) ? std::isnan(got[i]) : got[i] == want[i])
          << about.kind << " at " << i << ": " << got[i] << ", expected " << want[i];
      continue;
    }
    ASSERT_NEAR(got[i], want[i], about.tolerance * (1 + std::fabs(want[i])))
        << about.kind << " at " << i;
  }
}

/// Runs the operation by its own kernel, on 1 to 3 workers of every instruction set, and by the
/// reference kernel, and compares all outputs.
inline void expect_agreement(const std::function<void(TestOp&)>& fill, const Agreement& about) {
  TestOp expected(about.kind, about.domain, about.version);
  fill(expected);
  std::unique_ptr<Kernel> reference;
  ASSERT_TRUE(make_fallback(expected.op(), &reference).is_ok()) << about.kind;
  const Status wanted = expected.run(*reference, 1);
  ASSERT_TRUE(wanted.is_ok());
  for (const Backend& backend : backends_to_test()) {
    for (const int workers : {1, 2, 3}) {
      TestOp actual(about.kind, about.domain, about.version);
      fill(actual);
      std::unique_ptr<Kernel> kernel;
      const Status made = actual.make(backend, &kernel);
      ASSERT_TRUE(made.is_ok());
      ASSERT_FALSE(kernel->is_generic()) << about.kind;
      ASSERT_TRUE(actual.run(*kernel, workers).is_ok());
      for (int i = 0; i < expected.op().num_outputs; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (std::ranges::find(about.float_outputs, i) != about.float_outputs.end()) {
          expect_near_all(actual.result(at), expected.result(at), about);
          if (::testing::Test::HasFatalFailure()) return;
        } else if (std::ranges::find(about.double_outputs, i) != about.double_outputs.end()) {
          expect_near_all(actual.result<double>(at), expected.result<double>(at), about);
          if (::testing::Test::HasFatalFailure()) return;
        } else {
          ASSERT_EQ(actual.result<std::uint8_t>(at), expected.result<std::uint8_t>(at))
              << about.kind << ", output " << i;
        }
      }
    }
  }
}

}  // namespace sluice::cpu
