#include "recipes/parts/rotation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace sluice::recipes {
namespace {

/// What the kinds of scaling read and change.
struct Scaling {
  Settings& settings;  ///< of rope_scaling, or of one kind of layers
  double theta;
  std::int64_t context;  ///< of the model
  double trained;        ///< positions of the first training
  Rotation& rotation;

  void fail(std::string_view what) const {
    settings.fail(invalid_argument("rope_scaling: {}", what));
  }
};

/// Slow pairs turn slower by `factor`, fast ones as they did, and those between by a mixture.
void scale_as_llama3(const Scaling& s) {
  const double factor = s.settings.number("factor");
  const double low = s.settings.number("low_freq_factor");
  const double high = s.settings.number("high_freq_factor");
  const double trained = s.settings.number("original_max_position_embeddings");
  if (factor <= 0 || trained <= 0 || low <= 0 || high <= low) {
    return s.fail("needs factors above 0, and high_freq_factor above low_freq_factor");
  }
  for (float& angle : s.rotation.angles) {
    const double turns = trained * angle / (2 * std::numbers::pi);  // within the trained context
    if (turns > high) continue;
    const double smooth = turns < low ? 0 : (turns - low) / (high - low);
    angle = static_cast<float>((1 - smooth) * angle / factor + smooth * angle);
  }
}

/// A number for each pair by which it turns slower.
void scale_by_factors(const Scaling& s, const char* name) {
  const nlohmann::json factors = s.settings.value(name);
  auto& angles = s.rotation.angles;
  const auto is_factor = [](const nlohmann::json& f) { return f.is_number() && f > 0.0; };
  if (!factors.is_array() || factors.size() != angles.size() ||
      !std::ranges::all_of(factors, is_factor)) {
    return s.settings.fail(
        invalid_argument("rope_scaling.{}: expected {} numbers above 0", name, angles.size()));
  }
  for (std::size_t i = 0; i < angles.size(); ++i) {
    angles[i] = static_cast<float>(angles[i] / factors[i].get<double>());
  }
}

/// A text that is longer than the first training's takes other angles from its first token on. The
/// angles of shorter ones are taken, and longer texts are refused.
void scale_as_longrope(const Scaling& s) {
  scale_by_factors(s, "short_factor");
  s.settings.ignore({"long_factor", "short_mscale", "long_mscale"});
  const auto context = static_cast<double>(s.context);
  if (s.trained <= 1 || s.trained > context) {
    return s.fail("original_max_position_embeddings must be between 2 and the model's positions");
  }
  const double factor = s.settings.number_or("factor", context / s.trained);
  const double usual = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(s.trained));
  s.rotation.scale = static_cast<float>(s.settings.number_or("attention_factor", usual));
  s.rotation.context = static_cast<std::int64_t>(s.trained);
}

/// Peng et al., "YaRN": pairs that make fewer than beta_slow turns within the first training are
/// slower by `factor`, those with more than beta_fast stay, and between lies a ramp over the pairs.
void scale_as_yarn(const Scaling& s) {
  const double factor = s.settings.number_or("factor", static_cast<double>(s.context) / s.trained);
  const double fast = s.settings.number_or("beta_fast", 32);
  const double slow = s.settings.number_or("beta_slow", 1);
  if (factor < 1 || s.trained <= 0 || slow <= 0 || fast < slow || s.theta <= 1) {
    return s.fail("yarn needs a factor from 1 on, and beta_fast from beta_slow on");
  }
  const auto pairs = static_cast<double>(s.rotation.angles.size());
  const auto pair_with = [&](double turns) {
    return pairs * std::log(s.trained / (turns * 2 * std::numbers::pi)) / std::log(s.theta);
  };
  const bool is_whole = s.settings.flag_or("truncate", true);
  const double first = is_whole ? std::floor(pair_with(fast)) : pair_with(fast);
  const double last = is_whole ? std::ceil(pair_with(slow)) : pair_with(slow);
  const double begin = std::max(first, 0.0);
  const double end = std::min(last, 2 * pairs - 1);
  for (std::size_t i = 0; i < s.rotation.angles.size(); ++i) {
    const double length = end == begin ? 0.001 : end - begin;
    const double share = std::clamp((static_cast<double>(i) - begin) / length, 0.0, 1.0);
    float& angle = s.rotation.angles[i];
    angle = static_cast<float>(angle / factor * share + angle * (1 - share));
  }
  s.rotation.scale =
      static_cast<float>(s.settings.number_or("attention_factor", 0.1 * std::log(factor) + 1));
}

void scale_evenly(const Scaling& s) {
  const double factor = s.settings.number("factor");
  if (factor <= 0) return s.fail("factor: expected a number above 0");
  for (float& angle : s.rotation.angles) angle = static_cast<float>(angle / factor);
}

void scale(const Scaling& s) {
  const std::string kind = s.settings.text_or("rope_type", s.settings.text_or("type", "default"));
  if (kind == "llama3") return scale_as_llama3(s);
  if (kind == "factors") return scale_by_factors(s, "factors");
  if (kind == "linear") return scale_evenly(s);
  if (kind == "longrope" || kind == "su") return scale_as_longrope(s);
  if (kind == "yarn") return scale_as_yarn(s);
  if (kind == "default") return;
  s.settings.fail(unimplemented(
      "rope_scaling: the kind \"{}\" is not supported; default, linear, llama3, longrope and yarn "
      "are",
      kind));
}

constexpr const char* kTrained = "original_max_position_embeddings";

/// `own`: of rope_scaling, or of one kind of layers. `usual`: where neither has a rope_theta.
Rotation rotation_of(Settings& settings, Settings& own, std::int64_t head_size,
                     std::int64_t context, double usual) {
  const double theta = own.number_or("rope_theta", settings.number_or("rope_theta", usual));
  const double share =
      own.number_or("partial_rotary_factor", settings.number_or("partial_rotary_factor", 1));
  const auto turning = static_cast<std::int64_t>(share * static_cast<double>(head_size));
  Rotation rotation;
  if (theta <= 0) {
    settings.fail(invalid_argument("rope_theta: expected a number above 0"));
  } else if (share <= 0 || share > 1 || turning < 2 || turning % 2 != 0) {
    settings.fail(invalid_argument(
        "partial_rotary_factor: expected an even part of the {} numbers of a head", head_size));
  } else {
    rotation.angles = plain_rotation(theta, turning);
    const double trained = settings.number_or(kTrained, static_cast<double>(context));
    scale({own, theta, context, own.number_or(kTrained, trained), rotation});
  }
  settings.fail(own.finish());
  return rotation;
}

constexpr const char* kParameters = "rope_parameters";
constexpr const char* kWhole = "full_attention";
constexpr const char* kLocal = "sliding_attention";

bool has_kinds_of_layers(Settings& settings) {
  const nlohmann::json given = settings.value(kParameters);
  return given.is_object() && (given.contains(kWhole) || given.contains(kLocal));
}

}  // namespace

Rotation read_rotation(Settings& settings, std::int64_t head_size, std::int64_t context,
                       double theta) {
  // transformers 5 puts both into rope_parameters.
  Settings scaling = settings.inner(settings.has(kParameters) ? kParameters : "rope_scaling");
  if (!has_kinds_of_layers(settings)) {
    return rotation_of(settings, scaling, head_size, context, theta);
  }
  Settings own = scaling.inner(kWhole);
  scaling.ignore({kLocal});
  settings.fail(scaling.finish());
  return rotation_of(settings, own, head_size, context, theta);
}

Rotation read_local_rotation(Settings& settings, std::int64_t head_size, std::int64_t context) {
  if (!has_kinds_of_layers(settings)) return {};
  Settings own = settings.inner(kParameters).inner(kLocal);
  return rotation_of(settings, own, head_size, context, kUsualTheta);
}

std::vector<float> plain_rotation(double theta, std::int64_t size) {
  std::vector<float> angles;
  for (std::int64_t i = 0; i < size / 2; ++i) {
    const double share = 2.0 * static_cast<double>(i) / static_cast<double>(size);
    angles.push_back(static_cast<float>(1 / std::pow(theta, share)));
  }
  return angles;
}

}  // namespace sluice::recipes
