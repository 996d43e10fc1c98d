#include "reference/kernels/sequence/activation.h"

#include <cmath>
#include <optional>
#include <string>

namespace sluice::reference {
namespace {

using Function = double (*)(double x, double alpha, double beta);

struct Named {
  std::string_view name;  ///< in lower case
  Function function;
  std::optional<double> alpha, beta;  ///< defaults of the parameters it takes
};

constexpr Named kFunctions[] = {
    {"relu", [](double x, double, double) { return std::max(x, 0.0); }, {}, {}},
    {"tanh", [](double x, double, double) { return std::tanh(x); }, {}, {}},
    {"sigmoid", [](double x, double, double) { return 1 / (1 + std::exp(-x)); }, {}, {}},
    {"softsign", [](double x, double, double) { return x / (1 + std::fabs(x)); }, {}, {}},
    {"softplus", [](double x, double, double) { return std::log1p(std::exp(x)); }, {}, {}},
    {"affine", [](double x, double a, double b) { return a * x + b; }, 1.0, 0.0},
    {"leakyrelu", [](double x, double a, double) { return x < 0 ? a * x : x; }, 0.01, {}},
    {"thresholdedrelu", [](double x, double a, double) { return x > a ? x : 0; }, 1.0, {}},
    {"scaledtanh", [](double x, double a, double b) { return a * std::tanh(b * x); }, 1.0, 1.0},
    {"hardsigmoid",
     [](double x, double a, double b) { return std::min(std::max(a * x + b, 0.0), 1.0); }, 0.2,
     0.5},
    {"elu", [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }, 1.0, {}},
};

const Named* find_function(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const Named& candidate : kFunctions) {
    if (candidate.name == lower) return &candidate;
  }
  return nullptr;
}

/// The next given value for a parameter that the function takes; else its default.
double next_parameter(std::optional<double> fallback, std::span<const float>* given) {
  if (!fallback) return 0;
  if (given->empty()) return *fallback;
  const double value = given->front();
  *given = given->subspan(1);
  return value;
}

}  // namespace

Status read_activations(const Call& call, const std::vector<std::string_view>& defaults,
                        std::int64_t directions, std::vector<Activation>* activations) {
  std::vector<std::string_view> names = call.attributes().get_texts("activations");
  if (names.empty()) {
    for (std::int64_t d = 0; d < directions; ++d) {
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  // RNN's own default names two functions whatever the direction.
  const std::size_t expected = defaults.size() * index(directions);
  if (names.size() < expected) {
    return refuse_model(call, std::to_string(names.size()) + " activations are named; it takes " +
                                  std::to_string(expected));
  }
  names.resize(expected);
  std::span<const float> alphas = call.attributes().get_floats("activation_alpha");
  std::span<const float> betas = call.attributes().get_floats("activation_beta");
  for (const std::string_view name : names) {
    const Named* named = find_function(name);
    if (named == nullptr) return refuse_model(call, "unknown activation " + std::string(name));
    const double alpha = next_parameter(named->alpha, &alphas);
    const double beta = next_parameter(named->beta, &betas);
    activations->push_back(
        [named, alpha, beta](double x) { return named->function(x, alpha, beta); });
  }
  return plugin::ok();
}

}  // namespace sluice::reference
