// Rotary positions: how far the pairs of a head's numbers turn per position.
#pragma once

#include <cstdint>
#include <vector>

#include "recipes/parts/settings.h"

namespace sluice::recipes {

/// Angles per position, one for each pair: head_size / 2 numbers. Reads rope_theta and
/// rope_scaling, or rope_parameters, as transformers' modeling_rope_utils.py does: kinds "default",
/// "linear" and "llama3"; and the
/// kind "factors", a list of numbers by which the pairs turn slower. Another kind is an error of
/// `settings`.
std::vector<float> read_rotation(Settings& settings, std::int64_t head_size);

/// Without scaling. `theta` is above 0.
std::vector<float> plain_rotation(double theta, std::int64_t head_size);

}  // namespace sluice::recipes
