#include "plugin/libraries/options.h"

#include <cstdlib>

namespace sluice::cuda {

plugin::Status parse_libraries(std::string_view text, LibraryOptions* options) {
  if (text != "use" && text != "none" && text != "measure" && text != "tf32") {
    return plugin::invalid_argument("libraries is \"" + std::string(text) +
                                    "\"; it is one of: use, none, measure, tf32");
  }
  options->are_used = text != "none";
  options->are_measured = text == "measure";
  options->rounds_to_tf32 = text == "tf32";
  return plugin::ok();
}

std::string_view usual_libraries() {
  const char* const variable = std::getenv("SLUICE_CUDA_LIBRARIES");
  return variable != nullptr && *variable != '\0' ? variable : "use";
}

}  // namespace sluice::cuda
