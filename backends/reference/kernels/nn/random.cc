// RandomNormal, RandomUniform and their like; Bernoulli, Multinomial.
//
// The generator is splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
// 2014). It starts from the attribute `seed`, or from a fixed number: runs can be repeated.
#include <bit>
#include <cmath>
#include <numbers>

#include "reference/families.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

class Generator {
 public:
  explicit Generator(const Call& call)
      : state_(std::bit_cast<std::uint32_t>(call.attributes().get_float("seed", 1))) {}

  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

  /// Mean 0, deviation 1, by Box and Muller.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t bits = state_;
    bits = (bits ^ bits >> 30U) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ bits >> 27U) * 0x94d049bb133111ebU;
    return bits ^ bits >> 31U;
  }

  std::uint64_t state_;
};

/// Fills output 0 with what `draw(generator, i)` gives.
template <typename Draw>
Status fill(const Call& call, const Draw& draw) {
  Generator generator(call);
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
    double total = 0;
    for (const double value : row) total += std::exp(value);
    double left = generator.uniform() * total;
    std::size_t chosen = 0;
    while (chosen + 1 < classes && (left -= std::exp(row[chosen])) >= 0) ++chosen;
    return static_cast<double>(chosen);
  });
}

}  // namespace

std::vector<KernelEntry> random_kernels() {
  return {{.kind = "RandomNormal", .run = run_normal, .num_required_inputs = 0},
          {.kind = "RandomNormalLike", .run = run_normal},
          {.kind = "RandomUniform", .run = run_uniform, .num_required_inputs = 0},
          {.kind = "RandomUniformLike", .run = run_uniform},
          {.kind = "Bernoulli", .run = run_bernoulli},
          {.kind = "Multinomial", .run = run_multinomial}};
}

}  // namespace sluice::reference
