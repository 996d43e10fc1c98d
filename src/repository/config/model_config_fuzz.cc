// A model's config.pbtxt, and a file of labels.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "repository/config/labels.h"
#include "repository/config/model_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = sluice::repository::read_model_config(text);
  if (config.is_ok() && config->policy.num_latest < 1) __builtin_trap();
  const auto labels = sluice::repository::parse_labels(text);
  if (labels.is_ok() && labels->size() > size) __builtin_trap();
  return 0;
}
