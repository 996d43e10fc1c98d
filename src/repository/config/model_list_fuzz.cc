// A config.json of OpenVINO Model Server.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "repository/config/model_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto list = sluice::repository::read_model_list(text, "/models");
  if (!list.is_ok()) return 0;
  for (const auto& model : list->models) {
    const auto& config = model.config;
    if (config.name.empty() || !model.base.is_absolute() || config.batch_size < 0) __builtin_trap();
  }
  return 0;
}
