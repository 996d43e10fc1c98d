// RandomNormal, RandomUniform and their like; Bernoulli, Multinomial; Dropout.
#include <algorithm>
#include <cmath>

#include "reference/families.h"
#include "reference/kernels/nn/generator.h"
#include "reference/kernels/support.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

/// Fills output 0 with what `draw(generator, i)` gives. The state is the last input.
template <typename Draw>
Status fill(const Call& call, const Draw& draw) {
  std::optional<Generator> state;
  const Status status = Generator::create(call, call.num_inputs() - 1, &state);
  if (!status.is_ok()) return status;
  Generator generator = *state;
  std::vector<double> values(index(plugin::num_elements(call.output(0))));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = draw(generator, i);
  return write_doubles(call, 0, values);
}

Status run_normal(const Call& call) {
  const double mean = call.attributes().get_float("mean");
  const double scale = call.attributes().get_float("scale", 1);
  return fill(call, [&](Generator& generator, auto) { return mean + scale * generator.normal(); });
}

Status run_uniform(const Call& call) {
  const double low = call.attributes().get_float("low");
  const double high = call.attributes().get_float("high", 1);
  return fill(call,
              [&](Generator& generator, auto) { return low + (high - low) * generator.uniform(); });
}

Status run_bernoulli(const Call& call) {
  const std::vector<double> chances = read_doubles(call.input(0));
  if (chances.size() != index(plugin::num_elements(call.output(0)))) {
    return refuse(call, "input and output differ in size");
  }
  return fill(call, [&](Generator& generator, std::size_t i) {
    return generator.uniform() < chances[i] ? 1.0 : 0.0;
  });
}

/// Rows of unnormalized log-probabilities.
Status run_multinomial(const Call& call) {
  const Dims x = input_dims(call, 0);
  const Dims y = output_dims(call, 0);
  const std::vector<double> logs = read_doubles(call.input(0));
  if (x.size() != 2 || y.size() != 2 || y[0] != x[0] || logs.size() != index(size_of(x)) ||
      x[1] < 1) {
    return refuse(call, "input and output do not fit");
  }
  const std::size_t classes = index(x[1]);
  return fill(call, [&](Generator& generator, std::size_t i) {
    const auto row = std::span(logs).subspan(i / index(y[1]) * classes, classes);
    // The largest exponent is 0, so that the sum neither overflows nor vanishes.
    const double largest = *std::max_element(row.begin(), row.end());
    double total = 0;
    for (const double value : row) total += std::exp(value - largest);
    double left = generator.uniform() * total;
    std::size_t chosen = 0;
    // The last class takes what rounding has left.
    while (chosen + 1 < classes && (left -= std::exp(row[chosen] - largest)) >= 0) ++chosen;
    return static_cast<double>(chosen);
  });
}

Status check_dropout(const sluice_op& op) {
  const bool has_mask = op.num_outputs > 1 && !plugin::is_absent(op.outputs[1].tensor);
  if (has_mask && op.outputs[1].tensor.element_type != plugin::kBool) {
    return refuse(op, "the mask must be of bools");
  }
  if (op.outputs[0].tensor.element_type != op.inputs[0].tensor.element_type) {
    return refuse(op, "the element type must stay");
  }
  return check_type(op, 2, kBools);
}

/// In [0, 1); 0.5 where the input is absent, 0 without training.
Status dropout_ratio(const Call& call, double* ratio) {
  const std::vector<std::int64_t> training = read_ints(call.input(2));
  *ratio = 0;
  if (training.empty() || training.front() == 0) return plugin::ok();
  const std::vector<double> given = read_doubles(call.input(1));
  if (call.has_input(1) && given.size() != 1) return refuse(call, "ratio must be one number");
  *ratio = given.empty() ? 0.5 : given.front();
  if (*ratio >= 0 && *ratio < 1) return plugin::ok();
  return refuse(call, "ratio " + std::to_string(*ratio) + " is outside [0, 1)");
}

/// As the standard says it: y = x * mask / (1 - ratio), so a NaN that is dropped stays one.
Status run_dropout(const Call& call) {
  double ratio = 0;
  if (Status status = dropout_ratio(call, &ratio); !status.is_ok()) return status;
  const std::int64_t count = plugin::num_elements(call.input(0));
  const auto mask = call.has_output(1) ? call.output_elements<Bool>(1) : std::span<Bool>();
  if (plugin::num_elements(call.output(0)) != count ||
      (call.has_output(1) && mask.size() != index(count))) {
    return refuse(call, "input and outputs differ in size");
  }
  if (ratio == 0) {
    std::ranges::fill(mask, Bool(true));
    Mover(call.input(0), call.output(0)).copy(0, 0, count);
    return plugin::ok();
  }
  std::vector<double> x = read_doubles(call.input(0));
  std::optional<Generator> generator;
  if (Status status = Generator::create(call, 3, &generator); !status.is_ok()) return status;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool is_kept = generator->uniform() >= ratio;
    x[i] *= (is_kept ? 1 : 0) / (1 - ratio);
    if (i < mask.size()) mask[i] = Bool(is_kept);
  }
  return write_doubles(call, 0, x);
}

}  // namespace

std::vector<KernelEntry> random_kernels() {
  return {{.kind = "Dropout", .run = run_dropout, .check = check_dropout},
          {.kind = "RandomNormal", .run = run_normal, .num_required_inputs = 0},
          {.kind = "RandomNormalLike", .run = run_normal},
          {.kind = "RandomUniform", .run = run_uniform, .num_required_inputs = 0},
          {.kind = "RandomUniformLike", .run = run_uniform},
          {.kind = "Bernoulli", .run = run_bernoulli},
          {.kind = "Multinomial", .run = run_multinomial}};
}

}  // namespace sluice::reference
