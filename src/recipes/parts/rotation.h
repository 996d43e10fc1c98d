// Rotary positions: how far the pairs of a head's numbers turn per position.
#pragma once

#include <cstdint>
#include <vector>

#include "recipes/parts/settings.h"

namespace sluice::recipes {

/// The rope_theta of most families' configuration classes.
inline constexpr double kUsualTheta = 10000;

struct Rotation {
  std::vector<float> angles = {};  ///< per position, one for each pair that turns
  float scale = 1;                 ///< of all sines and cosines
  std::int64_t context = 0;        ///< positions for which the angles hold; 0: any

  std::int64_t pairs() const { return static_cast<std::int64_t>(angles.size()); }
};

/// Reads rope_theta, partial_rotary_factor and rope_scaling, or rope_parameters, as transformers'
/// modeling_rope_utils.py does: kinds "default", "linear", "llama3", "yarn", and "longrope" by its
/// short factors, for the positions of the first training; and the kind "factors", a list of
/// numbers by which the pairs turn slower. If rope_parameters has kinds of layers, those are read
/// that see all. `context`: max_position_embeddings. `theta`: where the file has no rope_theta.
/// Another kind is an error of `settings`.
Rotation read_rotation(Settings& settings, std::int64_t head_size, std::int64_t context,
                       double theta = kUsualTheta);

/// The rotation of layers that see a window, from rope_parameters; without angles if it has no
/// kinds of layers. Without a rope_theta they turn by kUsualTheta.
Rotation read_local_rotation(Settings& settings, std::int64_t head_size, std::int64_t context);

/// Without scaling. `theta` is above 0; `size`: numbers of a head that turn.
std::vector<float> plain_rotation(double theta, std::int64_t size);

}  // namespace sluice::recipes
