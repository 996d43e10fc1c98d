#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

struct GruNetwork {
  const char* kind = "GRU";
  std::int64_t steps = 5, batch = 3, inputs = 7, hidden = 21;
  const char* direction = "forward";
  std::int64_t linear = 0, layout = 0;
  bool has_bias = true, has_state = true;
  std::vector<std::int32_t> lengths = {};
};

void fill(TestOp& op, const GruNetwork& n) {
  const std::int64_t gates = n.kind[0] == 'G' ? 3 : 1;
  const std::int64_t directions = std::string(n.direction) == "bidirectional" ? 2 : 1;
  const auto floats = [](std::int64_t count, unsigned seed) { return random_floats(count, seed); };
  const Shape x =
      n.layout == 0 ? Shape{n.steps, n.batch, n.inputs} : Shape{n.batch, n.steps, n.inputs};
  const Shape h =
      n.layout == 0 ? Shape{directions, n.batch, n.hidden} : Shape{n.batch, directions, n.hidden};
  const Shape y = n.layout == 0 ? Shape{n.steps, directions, n.batch, n.hidden}
                                : Shape{n.batch, n.steps, directions, n.hidden};
  const std::int64_t rows = directions * gates * n.hidden;
  op.input(x, floats(n.steps * n.batch * n.inputs, 1));
  op.input({directions, gates * n.hidden, n.inputs}, floats(rows * n.inputs, 2), true);
  op.input({directions, gates * n.hidden, n.hidden}, floats(rows * n.hidden, 3), true);
  n.has_bias ? op.input({directions, 2 * gates * n.hidden}, floats(2 * rows, 4), true)
             : op.absent_input();
  n.lengths.empty() ? op.absent_input() : op.input<std::int32_t>({n.batch}, n.lengths);
  if (n.has_state) op.input(h, floats(directions * n.batch * n.hidden, 5));
  op.output(y).output(h);
  op.attribute("hidden_size", n.hidden).attribute("direction", n.direction);
  if (gates == 3) op.attribute("linear_before_reset", n.linear);
  if (n.layout != 0) op.attribute("layout", n.layout);
}

void expect_gru(const GruNetwork& n) {
  expect_agreement([&](TestOp& op) { fill(op, n); },
                   {.kind = n.kind, .version = 22, .tolerance = 2e-5F, .float_outputs = {0, 1}});
}

TEST(CpuGru, AgreesForEveryFormAndDirection) {
  for (const char* kind : {"GRU", "RNN"}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      for (const std::int64_t form : {0, 1, 2, 3}) {
        expect_gru({.kind = kind, .direction = direction, .linear = form % 2, .layout = form / 2});
      }
    }
  }
}

TEST(CpuGru, AgreesForOddSizes) {
  for (const std::int64_t linear : {0, 1}) {
    for (const std::int64_t hidden : {1, 8, 33, 64}) {
      expect_gru({.steps = 1, .batch = 1, .inputs = 1, .hidden = hidden, .linear = linear});
      expect_gru({.steps = 4,
                  .batch = 7,
                  .inputs = 40,
                  .hidden = hidden,
                  .linear = linear,
                  .has_bias = false,
                  .has_state = false});
    }
  }
  expect_gru({.kind = "RNN", .batch = 4, .hidden = 65, .has_bias = false});
}

TEST(CpuGru, EndsEachSequenceAtItsLength) {
  for (const char* kind : {"GRU", "RNN"}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      for (const std::int64_t form : {0, 1, 2}) {
        expect_gru({.kind = kind,
                    .steps = 6,
                    .batch = 5,
                    .direction = direction,
                    .linear = form % 2,
                    .layout = form / 2,
                    .lengths = {6, 0, 3, 1, 5}});
      }
    }
  }
}

TEST(CpuGru, RefusesLengthsOutside) {
  for (const std::int32_t length : {-1, 6}) {
    TestOp op("GRU", "", 22);
    fill(op, {.lengths = {5, length, 5}});
    EXPECT_FALSE(op.run(Backend(), 2).is_ok());
  }
}

TEST(CpuGru, TakesAnRnnsOtherActivations) {
  for (const char* name : {"Relu", "Sigmoid", "Tanh"}) {
    expect_agreement(
        [&](TestOp& op) {
          fill(op, {.kind = "RNN", .hidden = 9});
          op.attribute_texts("activations", {name});
        },
        {.kind = "RNN", .version = 22, .float_outputs = {0, 1}});
  }
}

}  // namespace
}  // namespace sluice::cpu
