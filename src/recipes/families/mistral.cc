#include "recipes/families/families.h"

namespace sluice::recipes {

DecoderShape read_mistral(Settings& settings) {
  DecoderShape shape = read_decoder(settings);
  if (settings.has("sliding_window")) {
    shape.window = settings.whole("sliding_window", 1, std::int64_t{1} << 24);
  }
  return shape;
}

}  // namespace sluice::recipes
