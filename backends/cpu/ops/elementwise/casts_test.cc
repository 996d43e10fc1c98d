// Casts between all types agree with the reference kernels.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "testing/agreement.h"

namespace sluice::cpu {
namespace {

constexpr sluice_element_type kHalves[] = {plugin::kF16, plugin::kBf16};

/// Ends of the type, zero and numbers between.
template <typename T>
std::vector<T> some_numbers(std::int64_t count) {
  using Limits = std::numeric_limits<T>;
  const T some[] = {Limits::max(), Limits::lowest(), T(0), T(1), T(-1), T(7), T(100), T(-3), T(64)};
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(some[static_cast<std::size_t>((i * 7 + i / 9) % 9)]);
  }
  return values;
}

template <typename From, typename To>
void expect_cast(const std::vector<From>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  expect_agreement(
      [&](TestOp& op) {
        op.input<From>({count}, values);
        op.output<To>({count});
      },
      {.kind = "Cast", .version = 13, .float_outputs = {}});
}

template <typename From>
void expect_casts(const std::vector<From>& values) {
  if constexpr (!std::is_same_v<From, std::int64_t>) expect_cast<From, std::int64_t>(values);
  if constexpr (!std::is_same_v<From, std::int32_t>) expect_cast<From, std::int32_t>(values);
  if constexpr (!std::is_same_v<From, std::uint64_t>) expect_cast<From, std::uint64_t>(values);
  if constexpr (!std::is_same_v<From, std::uint32_t>) expect_cast<From, std::uint32_t>(values);
  if constexpr (!std::is_same_v<From, std::uint16_t>) expect_cast<From, std::uint16_t>(values);
  if constexpr (!std::is_same_v<From, std::int16_t>) expect_cast<From, std::int16_t>(values);
  if constexpr (!std::is_same_v<From, std::uint8_t>) expect_cast<From, std::uint8_t>(values);
  if constexpr (!std::is_same_v<From, std::int8_t>) expect_cast<From, std::int8_t>(values);
  if constexpr (!std::is_same_v<From, float>) expect_cast<From, float>(values);
  if constexpr (!std::is_same_v<From, double>) expect_cast<From, double>(values);
  const auto count = static_cast<std::int64_t>(values.size());
  expect_agreement(
      [&](TestOp& op) {
        op.input<From>({count}, values);
        op.output<std::uint8_t>({count});
        op.set_output_type(0, plugin::kBool);
      },
      {.kind = "Cast", .version = 13, .float_outputs = {}});
}

TEST(Casts, AgreeBetweenAllTypes) {
  expect_casts(some_numbers<std::uint64_t>(150));
  expect_casts(some_numbers<std::uint16_t>(150));
  expect_casts(some_numbers<std::int16_t>(150));
  expect_casts(some_numbers<std::int64_t>(150));
  expect_casts(some_numbers<std::int32_t>(150));
  expect_casts(some_numbers<std::uint32_t>(150));
  expect_casts(some_numbers<std::uint8_t>(150));
  expect_casts(some_numbers<std::int8_t>(150));
  // In whole blocks that fit 32 bits, and in others.
  for (const double large : {300.0, 3e9, 1e19, std::numeric_limits<double>::infinity()}) {
    std::vector<double> values = {0, -0.0, 0.5, -0.5, 1.5, -1.5, 255.5, 256, -129, 65536.25};
    for (int i = 0; i < 90; ++i) values.push_back(i - 45.25);
    values[17] = large;
    values[85] = -large;
    std::vector<float> narrow;
    for (const double value : values) narrow.push_back(static_cast<float>(value));
    expect_casts(values);
    expect_casts(narrow);
    values[3] = std::numeric_limits<double>::quiet_NaN();
    narrow[3] = std::numeric_limits<float>::quiet_NaN();
    expect_casts(values);
    expect_casts(narrow);
  }
}

template <typename From>
void expect_halves_of(const std::vector<From>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  for (const sluice_element_type half : kHalves) {
    expect_agreement(
        [&](TestOp& op) {
          op.input<From>({count}, values);
          op.output<std::uint16_t>({count}).set_output_type(0, half);
        },
        {.kind = "Cast", .version = 13, .float_outputs = {}});
  }
}

template <typename To>
void expect_from_halves(const std::vector<std::uint16_t>& bits, bool is_bool = false) {
  const auto count = static_cast<std::int64_t>(bits.size());
  for (const sluice_element_type half : kHalves) {
    expect_agreement(
        [&](TestOp& op) {
          op.input<std::uint16_t>({count}, bits)
              .set_input_type(0, half)
              .template output<To>({count});
          if (is_bool) op.set_output_type(0, plugin::kBool);
        },
        {.kind = "Cast", .version = 13, .float_outputs = {}});
  }
}

TEST(Casts, RoundEveryTypeToHalves) {
  for (const std::int64_t n : {1, 3, 15, 16, 17, 33, 2048, 2049, 9000}) {
    expect_halves_of(some_numbers<std::int64_t>(n));
    expect_halves_of(some_numbers<std::int32_t>(n));
    expect_halves_of(some_numbers<std::uint8_t>(n));
  }
  expect_halves_of(some_numbers<std::uint64_t>(90));
  expect_halves_of(some_numbers<std::uint32_t>(90));
  expect_halves_of(some_numbers<std::uint16_t>(90));
  expect_halves_of(some_numbers<std::int16_t>(90));
  expect_halves_of(some_numbers<std::int8_t>(90));
  std::vector<std::int64_t> ties;  // between two halves, and beside them
  std::vector<std::int32_t> short_ties;
  for (std::int64_t i = 1; i < 1 << 17; i = i * 2 + 1) {
    for (std::int64_t beside = -2; beside <= 2; ++beside) {
      for (const std::int64_t scale : {1, 257, 65537, -32769}) {
        ties.push_back((i + beside) * scale);
        short_ties.push_back(static_cast<std::int32_t>(ties.back()));
      }
    }
  }
  expect_halves_of(ties);
  expect_halves_of(short_ties);
}

/// A double beside the middle of two halves, nearer to it than a float can tell.
TEST(Casts, RoundDoublesToHalvesOnce) {
  std::vector<double> x = {0.0, -0.0, 1e300, -1e300, 65519.999999999, 65520, 3.4e38, 3.4028236e38};
  x.push_back(std::numeric_limits<double>::infinity());
  x.push_back(std::numeric_limits<double>::quiet_NaN());
  for (const double unit : {1.0 / 2048, 1.0 / 256}) {
    for (int i = 0; i < 40; ++i) {
      const double middle = 1 + (2 * i + 1) * unit;
      for (const double beside : {0.0, 1e-12, -1e-12}) {
        x.push_back(middle + beside);
        x.push_back(-(middle + beside) * 1024);
      }
    }
  }
  expect_halves_of(x);
}

TEST(Casts, AgreeFromEveryHalf) {
  std::vector<std::uint16_t> bits;  // normal: denormal numbers may count as zero
  for (std::uint32_t i = 0; i < 0x10000; i += 3) {
    if ((i & 0x7fff) == 0 || (i & 0x7c00) != 0) bits.push_back(static_cast<std::uint16_t>(i));
  }
  expect_from_halves<std::int64_t>(bits);
  expect_from_halves<std::int32_t>(bits);
  expect_from_halves<std::uint8_t>(bits);
  expect_from_halves<std::int8_t>(bits);
  expect_from_halves<std::uint16_t>(bits);
  expect_from_halves<std::uint32_t>(bits);
  expect_from_halves<std::uint64_t>(bits);
  expect_from_halves<std::uint8_t>(bits, true);
  for (const sluice_element_type half : kHalves) {
    const auto count = static_cast<std::int64_t>(bits.size());
    expect_agreement(
        [&](TestOp& op) {
          op.input<std::uint16_t>({count}, bits).set_input_type(0, half).output<double>({count});
        },
        {.kind = "Cast", .version = 13, .float_outputs = {}, .double_outputs = {0}});
  }
}

}  // namespace
}  // namespace sluice::cpu
