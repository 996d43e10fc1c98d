#include "plugin/confine/confine.h"

#include <cstdlib>
#include <string>

namespace sluice::cuda {

plugin::Status parse_confine(std::string_view text, Confine* confine) {
  if (text == "none") {
    *confine = Confine::kNothing;
  } else if (text == "contexts") {
    *confine = Confine::kContexts;
  } else if (text == "masks") {
    *confine = Confine::kMasks;
  } else {
    return plugin::invalid_argument("confine is \"" + std::string(text) +
                                    "\"; it is one of: none, contexts, masks");
  }
  return plugin::ok();
}

std::string_view usual_confine() {
  const char* const variable = std::getenv("SLUICE_CUDA_CONFINE");
  return variable != nullptr ? variable : "none";
}

}  // namespace sluice::cuda
