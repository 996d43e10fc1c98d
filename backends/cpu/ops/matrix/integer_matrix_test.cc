// Products and convolutions of bytes with sums in integers agree with the reference kernels.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "plugin/registry.h"
#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

/// All bytes occur, the extremes first.
template <typename T>
std::vector<T> bytes(std::int64_t count) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(255 + i * 37 + i / 5));
  return values;
}

struct Product {
  std::vector<std::int64_t> a, b, y;
  std::int64_t a_zeros = 0, b_zeros = 0;  ///< none: no operand
};

std::int64_t size(const std::vector<std::int64_t>& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

template <typename A, typename B>
void fill(const Product& p, bool is_constant, TestOp& op) {
  op.input<A>(p.a, bytes<A>(size(p.a))).template input<B>(p.b, bytes<B>(size(p.b)), is_constant);
  const auto zeros = [&]<typename T>(std::int64_t count, T) {
    if (count == 0) op.absent_input();
    if (count == 1) op.input<T>({}, bytes<T>(1), is_constant);
    if (count > 1) op.input<T>({count}, bytes<T>(count), is_constant);
  };
  zeros(p.a_zeros, A{});
  zeros(p.b_zeros, B{});
  op.output<std::int32_t>(p.y);
}

const std::vector<Product>& products() {
  static const std::vector<Product> all = [] {
    std::vector<Product> made = {{{2, 3, 7}, {2, 7, 5}, {2, 3, 5}, 1, 1},
                                 {{2, 1, 3, 8}, {4, 8, 65}, {2, 4, 3, 65}, 3, 65},
                                 {{9}, {9, 4}, {4}, 1, 4},
                                 {{5, 9}, {9}, {5}, 1, 1},
                                 {{130, 12}, {12, 20}, {130, 20}, 130, 0}};
    for (const std::int64_t k : {1, 3, 4, 5, 33}) {
      for (const std::int64_t n : {1, 8, 15, 17, 63, 129}) {
        made.push_back({{7, k}, {k, n}, {7, n}, k % 2, n % 2 == 1 ? n : 0});
      }
    }
    return made;
  }();
  return all;
}

TEST(IntegerProduct, AgreesForEveryPairOfTypes) {
  const Agreement about = {"MatMulInteger", 10, "", 0, {}};
  for (const Product& p : products()) {
    for (const bool is_constant : {false, true}) {
      expect_agreement([&](TestOp& op) { fill<std::uint8_t, std::int8_t>(p, is_constant, op); },
                       about);
      expect_agreement([&](TestOp& op) { fill<std::uint8_t, std::uint8_t>(p, is_constant, op); },
                       about);
      expect_agreement([&](TestOp& op) { fill<std::int8_t, std::uint8_t>(p, is_constant, op); },
                       about);
      expect_agreement([&](TestOp& op) { fill<std::int8_t, std::int8_t>(p, is_constant, op); },
                       about);
    }
  }
}

TEST(IntegerProduct, ReadsPackedColumns) {
  const Product p = {{5, 9}, {9, 70}, {5, 70}, 1, 70};
  const OpEntry* entry = find_entry("", "MatMulInteger");
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
    if (isa > detect_isa()) continue;
    Backend backend;
    ASSERT_TRUE(backend.set_option("isa", isa_name(isa)).is_ok());
    TestOp expected("MatMulInteger");
    fill<std::uint8_t, std::uint8_t>(p, true, expected);
    ASSERT_TRUE(expected.run(backend, 1).is_ok());
    TestOp op("MatMulInteger");
    fill<std::uint8_t, std::uint8_t>(p, true, op);
    const sluice_packing packing = entry->packing(op.op(), 1, isa);
    ASSERT_GT(packing.size_bytes, 0);
    std::vector<std::byte> packed(static_cast<std::size_t>(packing.size_bytes));
    entry->pack(op.op(), 1, isa, packed.data());
    op.packed_input(1, packed.data(), packing.size_bytes);
    ASSERT_TRUE(op.run(backend, 2).is_ok());
    EXPECT_EQ(op.result<std::int32_t>(), expected.result<std::int32_t>());
    op.packed_input(1, packed.data(), packing.size_bytes - 64);
    EXPECT_FALSE(op.run(backend, 1).is_ok());
  }
}

TEST(IntegerConv, AgreesForImagesOfOneToThreeAxes) {
  const Agreement about = {"ConvInteger", 10, "", 0, {}};
  expect_agreement(
      [](TestOp& op) {
        op.input<std::uint8_t>({2, 4, 9, 11}, bytes<std::uint8_t>(792))
            .input<std::int8_t>({6, 2, 3, 2}, bytes<std::int8_t>(72))
            .input<std::uint8_t>({}, {120})
            .input<std::int8_t>({6}, bytes<std::int8_t>(6))
            .attribute("group", std::int64_t{2})
            .attribute("pads", Shape{1, 2, 0, 1})
            .attribute("strides", Shape{2, 1})
            .attribute("dilations", Shape{1, 2})
            .output<std::int32_t>({2, 6, 4, 12});
      },
      about);
  expect_agreement(
      [](TestOp& op) {
        op.input<std::int8_t>({1, 3, 70}, bytes<std::int8_t>(210))
            .input<std::uint8_t>({5, 3, 1}, bytes<std::uint8_t>(15))
            .input<std::int8_t>({}, {-7})
            .input<std::uint8_t>({}, {200})
            .output<std::int32_t>({1, 5, 70});
      },
      about);
  expect_agreement(
      [](TestOp& op) {
        op.input<std::uint8_t>({1, 2, 3, 4, 5}, bytes<std::uint8_t>(120))
            .input<std::uint8_t>({3, 2, 2, 2, 2}, bytes<std::uint8_t>(48))
            .output<std::int32_t>({1, 3, 2, 3, 4});
      },
      about);
}

TEST(DynamicQuantize, AgreesForEveryLengthAndRange) {
  const Agreement about = {"DynamicQuantizeLinear", 11, "", 0, {}};
  const float huge = std::numeric_limits<float>::max();
  const std::vector<std::vector<float>> ranges = {
      {0}, {5, 5, 5}, {-3, -1}, {-huge, huge, 1}, {NAN, 1, -2}, {1e-38F, 0}, {-0.0F, 0}};
  const auto run = [&](const std::vector<float>& x) {
    expect_agreement(
        [&](TestOp& op) {
          const auto count = static_cast<std::int64_t>(x.size());
          op.input({count}, x).output<std::uint8_t>({count}).output({}).output<std::uint8_t>({});
        },
        about);
  };
  for (const std::vector<float>& x : ranges) run(x);
  for (std::int64_t count = 1; count <= 70; ++count) run(random_floats(count, 3));
  run(random_floats(10000, 4));
}

}  // namespace
}  // namespace sluice::cpu
