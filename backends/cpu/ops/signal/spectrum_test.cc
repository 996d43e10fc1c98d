#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using Longs = std::vector<std::int64_t>;

/// Lengths of one point, of every radix, of large primes, and of products with them.
constexpr std::int64_t kLengths[] = {1,  2,  3,  4,  5,  7,   8,   11,  13,  15,
                                     16, 17, 30, 49, 97, 128, 143, 400, 1009};

Agreement dft_within(float tolerance) {
  return {.kind = "DFT", .version = 20, .tolerance = tolerance};
}

TEST(CpuSpectrum, AgreesForEveryLength) {
  for (const std::int64_t length : kLengths) {
    for (const std::int64_t parts : {1, 2}) {
      for (const std::int64_t inverse : {0, 1}) {
        expect_agreement(
            [&](TestOp& op) {
              op.input({3, length, parts}, random_floats(3 * length * parts, 1));
              op.absent_input().input<std::int64_t>({}, Longs{1}, true);
              op.output({3, length, 2}).attribute("inverse", inverse);
            },
            dft_within(2e-5F));
      }
    }
  }
}

TEST(CpuSpectrum, GivesHalvesAndTakesThem) {
  for (const std::int64_t length : {2, 3, 8, 17, 30}) {
    const std::int64_t half = length / 2 + 1;
    expect_agreement(
        [&](TestOp& op) {
          op.input({2, length, 1}, random_floats(2 * length, 1)).absent_input();
          op.input<std::int64_t>({}, Longs{1}, true).output({2, half, 2});
          op.attribute("onesided", std::int64_t{1});
        },
        dft_within(2e-5F));
    expect_agreement(
        [&](TestOp& op) {
          op.input({2, half, 2}, random_floats(4 * half, 1))
              .input<std::int64_t>({}, Longs{length}, true);
          op.input<std::int64_t>({}, Longs{1}, true).output({2, length, 1});
          op.attribute("onesided", std::int64_t{1}).attribute("inverse", std::int64_t{1});
        },
        dft_within(2e-5F));
  }
}

TEST(CpuSpectrum, TransformsEveryAxisCutOrExtended) {
  for (const std::int64_t axis : {0, 1, 2}) {
    for (const std::int64_t length : {3, 6, 9}) {
      Shape out = {5, 6, 7, 2};
      out[static_cast<std::size_t>(axis)] = length;
      expect_agreement(
          [&](TestOp& op) {
            op.input({5, 6, 7, 2}, random_floats(420, 1))
                .input<std::int64_t>({}, Longs{length}, true);
            op.input<std::int64_t>({}, Longs{axis}, true).output(out);
          },
          dft_within(2e-5F));
    }
  }
}

/// Into every bin. The reference kernel has it in the imaginary part of bin 0, too, where the sum
/// of a real line has no term.
TEST(CpuSpectrum, SpreadsNan) {
  for (const std::int64_t length : {8, 15, 17}) {
    std::vector<float> x = random_floats(length, 1);
    x[3] = std::numeric_limits<float>::quiet_NaN();
    for (const Backend& backend : backends_to_test()) {
      TestOp op("DFT", "", 20);
      op.input({1, length, 1}, x).absent_input().input<std::int64_t>({}, Longs{1}, true);
      op.output({1, length, 2});
      ASSERT_TRUE(op.run(backend, 1).is_ok());
      const std::vector<float> y = op.result();
      for (std::size_t i = 0; i < y.size(); i += 2) EXPECT_TRUE(std::isnan(y[i])) << i;
    }
  }
}

TEST(CpuSpectrum, FramesSignals) {
  for (const std::int64_t parts : {1, 2}) {
    for (const bool has_window : {false, true}) {
      for (const std::int64_t bins : {7, 12}) {
        expect_agreement(
            [&](TestOp& op) {
              op.input({2, 101, parts}, random_floats(202 * parts, 1));
              op.input<std::int64_t>({}, Longs{5}, true);
              has_window ? op.input({12}, random_floats(12, 2)) : op.absent_input();
              op.input<std::int64_t>({}, Longs{12}, true).output({2, 18, bins, 2});
              op.attribute("onesided", std::int64_t{bins == 7 ? 1 : 0});
            },
            {.kind = "STFT", .version = 17, .tolerance = 2e-5F});
      }
    }
  }
}

TEST(CpuSpectrum, WeighsMelBins) {
  for (const std::int64_t bins : {1, 7, 80}) {
    for (const std::int64_t length : {0, 1, 31, 400}) {
      for (const float lower : {0.0F, 20.5F, -900.0F, NAN, INFINITY}) {
        expect_agreement(
            [&](TestOp& op) {
              op.input<std::int64_t>({}, {bins}).input<std::int64_t>({}, {length});
              op.input<std::int32_t>({}, {16000}).input({}, {lower}).input({}, {8000.0F});
              op.output({length / 2 + 1, bins});
            },
            {.kind = "MelWeightMatrix", .version = 17});
      }
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
