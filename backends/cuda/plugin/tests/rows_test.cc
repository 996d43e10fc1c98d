// Kernels that move memory on emulated devices, against results in double: rows of every way to
// share them, runs and what is left where none fit.

#include "plugin/generate/text/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "plugin/libraries/testing/emulated_device.h"
#include "plugin/libraries/testing/test_op.h"

namespace sluice::cuda {
namespace {

using testing::TestOp;
using List = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

/// The numbers that an operand gets.
Doubles numbers_of(const sluice_tensor& tensor, unsigned seed) {
  const std::vector<float> numbers = testing::some_numbers(tensor, seed);
  return {numbers.begin(), numbers.end()};
}

double tolerance_of(sluice_element_type type) {
  return type == plugin::kF32 ? 1e-5 : type == plugin::kF16 ? 4e-3 : 3e-2;
}

std::size_t product(std::span<const std::int64_t> dims) {
  return static_cast<std::size_t>(
      std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>()));
}

/// The places of a row-major tensor, the last axis fastest.
void each_place(const List& dims, const std::function<void(const List& place)>& visit) {
  List place(dims.size(), 0);
  for (std::size_t count = product(dims); count > 0; --count) {
    visit(place);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      if (++place[axis] < dims[axis]) break;
      place[axis] = 0;
    }
  }
}

/// The element of an operand that is stretched to `place`.
std::size_t element_at(const List& dims, const List& place) {
  std::size_t at = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const std::int64_t own = place[place.size() - dims.size() + axis];
    at = at * static_cast<std::size_t>(dims[axis]) +
         static_cast<std::size_t>(dims[axis] == 1 ? 0 : own);
  }
  return at;
}

void expect_close(const Doubles& actual, const Doubles& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(actual[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i]))) {
      continue;
    }
    if (++wrong == 1) {
      ADD_FAILURE() << "element " << i << " is " << actual[i] << ", expected " << expected[i];
    }
  }
  EXPECT_EQ(wrong, 0U);
}

/// Runs the operation alone, and masked with a body that adds a residual and takes the larger of
/// the sum and 0. `describe` adds inputs, the output and attributes. `expect`: of the inputs.
void check(const char* kind, sluice_element_type type, const std::function<void(TestOp&)>& describe,
           const std::function<Doubles(const std::vector<Doubles>&)>& expect) {
  for (const bool has_residual : {false, true}) {
    const testing::EmulatedDevice device(75, has_residual ? Confine::kMasks : Confine::kNothing);
    if (!device.has_compiler()) GTEST_SKIP() << "no compiler for CUDA";
    TestOp described(kind, type);
    describe(described);
    const sluice_tensor output = described.get().outputs[0].tensor;
    if (has_residual) {
      const Dims dims = plugin::dims_of(output);
      described.body_input({dims.begin(), dims.end()}).step("Add", {0, 1}).step("Relu", {2});
    }
    const sluice_op& op = described.get();
    std::vector<Doubles> inputs;
    for (const sluice_operand& input : plugin::inputs_of(op)) {
      inputs.push_back(numbers_of(input.tensor, static_cast<unsigned>(inputs.size() + 1)));
    }
    Doubles expected = expect(inputs);
    if (has_residual) {
      const Doubles residual = numbers_of(output, static_cast<unsigned>(inputs.size() + 1));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] = std::max(expected[i] + residual[i], 0.0);
      }
    }
    const testing::RunResult result = testing::run_op(*device.backend, *device.group, op);
    ASSERT_EQ(result.status.text, "");
    expect_close({result.output.begin(), result.output.end()}, expected, tolerance_of(type));
  }
}

// bf16 has the width of f16, and the tests of products its conversions.
constexpr sluice_element_type kRowTypes[] = {plugin::kF32, plugin::kF16};

// By rows and elements: a part of a warp, a warp, blocks that keep a row, blocks that do not.
const std::pair<std::int64_t, std::int64_t> kRows[] = {{5, 1},    {7, 3},    {9, 8},    {37, 49},
                                                       {3, 64},   {2, 768},  {3, 1000}, {2, 4096},
                                                       {1, 4099}, {1, 66000}};

std::string name_of(sluice_element_type type, const std::vector<List>& lists) {
  std::string name = "type " + std::to_string(type);
  for (const List& list : lists) name += ", " + plugin::to_string(list);
  return name;
}

TEST(Rows, NormalizedRowsOfEveryLengthAreExactUpToRounding) {
  for (const sluice_element_type type : kRowTypes) {
    for (const auto& row_sizes : kRows) {
      const std::int64_t count = row_sizes.first;
      const std::int64_t size = row_sizes.second;
      SCOPED_TRACE(name_of(type, {{count, size}}));
      const auto normalize = [&](const std::vector<Doubles>& inputs) {
        Doubles expected;
        const auto length = static_cast<std::size_t>(size);
        for (std::size_t row = 0; row < static_cast<std::size_t>(count); ++row) {
          const std::span line = std::span(inputs[0]).subspan(row * length, length);
          const double mean = std::accumulate(line.begin(), line.end(), 0.0) / double(size);
          double squares = 0;
          for (const double value : line) squares += (value - mean) * (value - mean);
          const double scale = 1 / std::sqrt(squares / double(size) + 1e-5);
          for (std::size_t i = 0; i < length; ++i) {
            expected.push_back((line[i] - mean) * scale * inputs[1][i] + inputs[2][i]);
          }
        }
        return expected;
      };
      check(
          "LayerNormalization", type,
          [&](TestOp& op) {
            op.input({count, size}).input({size}).input({size}).output({count, size});
          },
          normalize);
    }
  }
}

void check_softmax(const char* kind, sluice_element_type type, const List& dims,
                   std::int64_t axis) {
  SCOPED_TRACE(name_of(type, {dims, {axis}}));
  const auto expect = [&](const std::vector<Doubles>& inputs) {
    List rows = dims;
    rows[static_cast<std::size_t>(axis)] = 1;
    Doubles sums(product(rows), 0.0);
    each_place(dims, [&](const List& place) {
      sums[element_at(rows, place)] += std::exp(inputs[0][element_at(dims, place)]);
    });
    Doubles expected;
    each_place(dims, [&](const List& place) {
      const double power =
          std::exp(inputs[0][element_at(dims, place)]) / sums[element_at(rows, place)];
      expected.push_back(std::string_view(kind) == "Softmax" ? power : std::log(power));
    });
    return expected;
  };
  check(
      kind, type, [&](TestOp& op) { op.input(dims).output(dims).set_int("axis", axis); }, expect);
}

TEST(Rows, SoftmaxOverAnyAxisIsExactUpToRounding) {
  for (const sluice_element_type type : kRowTypes) {
    for (const auto& [count, size] : kRows) check_softmax("Softmax", type, {count, size}, 1);
    check_softmax("LogSoftmax", type, {3, 70}, 1);
    check_softmax("LogSoftmax", type, {1, 66000}, 1);
    check_softmax("Softmax", type, {3, 5, 9}, 1);  // a thread per row
    check_softmax("Softmax", type, {2, 300, 9},
                  1);  // threads share a row of elements that are apart
    check_softmax("LogSoftmax", type, {5, 2, 3}, 0);
  }
}

void check_sum(sluice_element_type type, const List& dims, const List& axes) {
  SCOPED_TRACE(name_of(type, {dims, axes}));
  List left = dims;
  for (const std::int64_t axis : axes) left[static_cast<std::size_t>(axis)] = 1;
  const auto expect = [&](const std::vector<Doubles>& inputs) {
    Doubles sums(product(left), 0.0);
    each_place(dims, [&](const List& place) {
      sums[element_at(left, place)] += inputs[0][element_at(dims, place)];
    });
    for (double& sum : sums) sum /= double(product(dims)) / double(sums.size());
    return sums;
  };
  check(
      "ReduceMean", type, [&](TestOp& op) { op.input(dims).output(left).set("axes", axes); },
      expect);
}

TEST(Rows, MeansOverAnyAxesAreExactUpToRounding) {
  for (const sluice_element_type type : kRowTypes) {
    for (const auto& [count, size] : kRows) check_sum(type, {count, size}, {1});
    check_sum(type, {2, 70, 7, 7}, {2, 3});
    check_sum(type, {19, 24}, {0});
    check_sum(type, {300, 5}, {0});
    check_sum(type, {3, 40, 16}, {1});
    check_sum(type, {3, 40, 16}, {0, 2});
    check_sum(type, {2, 3, 4, 5, 6, 1}, {1, 3});
    check_sum(type, {2, 3, 4, 8}, {0, 1, 2});
    check_sum(type, {1, 9, 1}, {0, 2});
  }
}

void check_transposed(sluice_element_type type, const List& dims, const List& order) {
  SCOPED_TRACE(name_of(type, {dims, order}));
  List turned;
  for (const std::int64_t axis : order) turned.push_back(dims[static_cast<std::size_t>(axis)]);
  const auto expect = [&](const std::vector<Doubles>& inputs) {
    Doubles expected;
    each_place(turned, [&](const List& place) {
      List from(dims.size());
      for (std::size_t k = 0; k < order.size(); ++k) {
        from[static_cast<std::size_t>(order[k])] = place[k];
      }
      expected.push_back(inputs[0][element_at(dims, from)]);
    });
    return expected;
  };
  check(
      "Transpose", type, [&](TestOp& op) { op.input(dims).output(turned).set("perm", order); },
      expect);
}

TEST(Rows, AxesTurnInAnyOrder) {
  for (const sluice_element_type type : kRowTypes) {
    check_transposed(type, {2, 5, 3, 16}, {0, 2, 1, 3});
    check_transposed(type, {33, 70}, {1, 0});
    check_transposed(type, {2, 3, 40, 9}, {0, 3, 1, 2});
    check_transposed(type, {3, 40, 2, 33}, {3, 0, 2, 1});
    check_transposed(type, {9, 3, 11}, {2, 1, 0});
    check_transposed(type, {2, 6, 7, 3}, {0, 3, 1, 2});
    check_transposed(type, {300, 700}, {1, 0});
    check_transposed(type, {7}, {0});
  }
}

void check_added(sluice_element_type type, const List& a_dims, const List& b_dims,
                 const List& dims) {
  SCOPED_TRACE(name_of(type, {a_dims, b_dims}));
  const auto expect = [&](const std::vector<Doubles>& inputs) {
    Doubles expected;
    each_place(dims, [&](const List& place) {
      expected.push_back(inputs[0][element_at(a_dims, place)] +
                         inputs[1][element_at(b_dims, place)]);
    });
    return expected;
  };
  check(
      "Add", type, [&](TestOp& op) { op.input(a_dims).input(b_dims).output(dims); }, expect);
}

TEST(Rows, OperandsStretchAlongEveryAxis) {
  const List dims = {3, 5, 8, 16};
  for (const sluice_element_type type : kRowTypes) {
    for (unsigned axes = 0; axes < 16; ++axes) {
      List own = dims;
      for (std::size_t axis = 0; axis < 4; ++axis) {
        if ((axes >> axis & 1) != 0) own[axis] = 1;
      }
      check_added(type, dims, own, dims);
    }
    check_added(type, {64, 32, 49}, {32, 1}, {64, 32, 49});  // runs over several of an operand's
    check_added(type, {400, 1}, {1, 300}, {400, 300});
    check_added(type, {}, {}, {});
    check_added(type, {3, 7, 5}, {5}, {3, 7, 5});
    check_added(type, {1, 2, 1, 3, 1, 2, 1, 4}, {2, 1, 1}, {1, 2, 1, 3, 1, 2, 1, 4});
  }
}

TEST(Rows, InputsBehindEachOtherKeepTheirRuns) {
  for (const sluice_element_type type : kRowTypes) {
    for (const std::int64_t inner : {1, 5, 16}) {
      const List a_dims = {700, 3 * inner};
      const List b_dims = {700, 8 * inner};
      const List dims = {700, 11 * inner};
      SCOPED_TRACE(name_of(type, {dims}));
      const auto expect = [&](const std::vector<Doubles>& inputs) {
        Doubles expected;
        each_place(dims, [&](const List& place) {
          const std::int64_t behind = place[1] - a_dims[1];
          expected.push_back(behind < 0 ? inputs[0][element_at(a_dims, place)]
                                        : inputs[1][element_at(b_dims, {place[0], behind})]);
        });
        return expected;
      };
      check(
          "Concat", type,
          [&](TestOp& op) { op.input(a_dims).input(b_dims).output(dims).set_int("axis", 1); },
          expect);
    }
  }
}

TEST(RowPlan, EveryElementHasAThread) {
  for (const std::int64_t count : {1, 7, 128, 4096, 100000}) {
    for (const std::int64_t size : {1, 3, 8, 49, 64, 768, 1000, 3072, 50257, 1000000}) {
      for (const int run : {1, 2, 4, 8}) {
        if (size % run != 0) continue;
        const RowPlan plan = plan_rows(count, size, run);
        SCOPED_TRACE(std::to_string(count) + " x " + std::to_string(size));
        EXPECT_GE(std::int64_t{plan.lanes} * plan.runs * plan.run, size);
        EXPECT_EQ(plan.lanes * plan.rows % 32, 0);
        EXPECT_LE(plan.lanes * plan.rows, 1024);
        EXPECT_TRUE(plan.lanes <= 32 || plan.rows == 1);
        EXPECT_TRUE(!plan.is_kept || plan.runs * plan.run <= 64);
      }
    }
  }
}

}  // namespace
}  // namespace sluice::cuda
