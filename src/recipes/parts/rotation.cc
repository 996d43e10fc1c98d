#include "recipes/parts/rotation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

namespace sluice::recipes {
namespace {

/// Slow pairs turn slower by `factor`, fast ones as they did, and those between by a mixture.
void scale_as_llama3(Settings& scaling, std::vector<float>& angles) {
  const double factor = scaling.number("factor");
  const double low = scaling.number("low_freq_factor");
  const double high = scaling.number("high_freq_factor");
  const double trained = scaling.number("original_max_position_embeddings");
  if (factor <= 0 || trained <= 0 || low <= 0 || high <= low) {
    return scaling.fail(invalid_argument(
        "rope_scaling: needs factors above 0, and high_freq_factor above low_freq_factor"));
  }
  for (float& angle : angles) {
    const double turns = trained * angle / (2 * std::numbers::pi);  // within the trained context
    if (turns > high) continue;
    const double smooth = turns < low ? 0 : (turns - low) / (high - low);
    angle = static_cast<float>((1 - smooth) * angle / factor + smooth * angle);
  }
}

/// A number for each pair by which it turns slower: what a GGUF file has of llama3's kind.
void scale_by_factors(Settings& scaling, std::vector<float>& angles) {
  const nlohmann::json factors = scaling.value("factors");
  const auto is_factor = [](const nlohmann::json& f) { return f.is_number() && f > 0.0; };
  if (!factors.is_array() || factors.size() != angles.size() ||
      !std::ranges::all_of(factors, is_factor)) {
    return scaling.fail(
        invalid_argument("rope_scaling.factors: expected {} numbers above 0", angles.size()));
  }
  for (std::size_t i = 0; i < angles.size(); ++i) {
    angles[i] = static_cast<float>(angles[i] / factors[i].get<double>());
  }
}

void scale(Settings& scaling, std::vector<float>& angles) {
  const std::string kind = scaling.text_or("rope_type", scaling.text_or("type", "default"));
  if (kind == "llama3") {
    scale_as_llama3(scaling, angles);
  } else if (kind == "factors") {
    scale_by_factors(scaling, angles);
  } else if (kind == "linear") {
    const double factor = scaling.number("factor");
    if (factor <= 0)
      scaling.fail(invalid_argument("rope_scaling.factor: expected a number above 0"));
    for (float& angle : angles) angle = static_cast<float>(angle / factor);
  } else if (kind != "default") {
    scaling.fail(
        unimplemented("rope_scaling: the kind \"{}\" is not supported; default, linear and llama3 "
                      "are",
                      kind));
  }
}

}  // namespace

std::vector<float> read_rotation(Settings& settings, std::int64_t head_size) {
  // transformers 5 puts both into rope_parameters.
  Settings scaling =
      settings.inner(settings.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  const double theta = scaling.number_or("rope_theta", settings.number_or("rope_theta", 10000));
  if (theta <= 0) settings.fail(invalid_argument("rope_theta: expected a number above 0"));
  std::vector<float> angles = plain_rotation(theta, head_size);
  scale(scaling, angles);
  settings.fail(scaling.finish());
  return angles;
}

std::vector<float> plain_rotation(double theta, std::int64_t head_size) {
  std::vector<float> angles;
  for (std::int64_t i = 0; i < head_size / 2; ++i) {
    const double share = 2.0 * static_cast<double>(i) / static_cast<double>(head_size);
    angles.push_back(static_cast<float>(1 / std::pow(theta, share)));
  }
  return angles;
}

}  // namespace sluice::recipes
