#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

struct Network {
  std::int64_t steps = 1, batch = 3, inputs = 7, hidden = 21;
  const char* direction = "forward";
  bool has_bias = true, has_state = true;
};

/// Rows of whole multiples of 1/127, the first of each the largest: 8 bits hold them.
std::vector<float> rows_of_bytes(std::int64_t rows, std::int64_t depth, unsigned seed) {
  std::vector<float> values = random_floats(rows * depth, seed);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        i % static_cast<std::size_t>(depth) == 0 ? 1 : std::nearbyint(values[i] * 127) / 127;
  }
  return values;
}

void fill(TestOp& op, const Network& n) {
  const std::int64_t directions = std::string(n.direction) == "bidirectional" ? 2 : 1;
  const std::int64_t rows = directions * 4 * n.hidden;
  const Shape state = {directions, n.batch, n.hidden};
  op.input({n.steps, n.batch, n.inputs}, rows_of_bytes(n.steps * n.batch, n.inputs, 1));
  op.input({directions, 4 * n.hidden, n.inputs}, rows_of_bytes(rows, n.inputs, 2), true);
  op.input({directions, 4 * n.hidden, n.hidden}, rows_of_bytes(rows, n.hidden, 3), true);
  n.has_bias ? op.input({directions, 8 * n.hidden}, random_floats(2 * rows, 4), true)
             : op.absent_input();
  op.absent_input();
  if (n.has_state) {
    op.input(state, rows_of_bytes(directions * n.batch, n.hidden, 5));
    op.input(state, random_floats(directions * n.batch * n.hidden, 6));
  }
  op.output({n.steps, directions, n.batch, n.hidden}).output(state).output(state);
  op.attribute("hidden_size", n.hidden).attribute("direction", n.direction);
  op.attribute("sluice_weights", "int8");
}

void expect_network(const Network& n, float tolerance) {
  expect_agreement(
      [&](TestOp& op) { fill(op, n); },
      {.kind = "LSTM", .version = 22, .tolerance = tolerance, .float_outputs = {0, 1, 2}});
}

TEST(CpuByteLstm, StepOverNumbersOf8BitsIsExact) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    for (const std::int64_t hidden : {1, 4, 16, 33}) {
      for (const std::int64_t batch : {1, 2, 13}) {
        expect_network({.batch = batch, .hidden = hidden, .direction = direction}, 2e-5F);
      }
    }
  }
  expect_network({.inputs = 1, .has_bias = false, .has_state = false}, 2e-5F);
}

TEST(CpuByteLstm, LaterStepsRoundTheirStates) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    expect_network({.steps = 9, .batch = 5, .inputs = 12, .hidden = 40, .direction = direction},
                   0.05F);
  }
}

}  // namespace
}  // namespace sluice::cpu
