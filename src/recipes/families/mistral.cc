#include "recipes/families/families.h"

namespace sluice::recipes {
namespace {

/// Where a file names none; null means none (transformers' MistralConfig).
constexpr std::int64_t kDefaultWindow = 4096;

}  // namespace

DecoderShape read_mistral(Settings& settings) {
  DecoderShape shape = read_decoder(settings);
  if (settings.has("sliding_window")) {
    shape.window = settings.whole("sliding_window", 1, kMostSize);
  } else if (!settings.names("sliding_window")) {
    shape.window = kDefaultWindow;
  }
  return shape;
}

}  // namespace sluice::recipes
