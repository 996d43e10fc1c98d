#include "plugin/graph_use.h"

#include <cstdlib>
#include <string>

namespace sluice::cuda {

plugin::Status parse_graph_use(std::string_view text, GraphUse* use) {
  if (text == "none") {
    *use = GraphUse::kNone;
  } else if (text == "repeated") {
    *use = GraphUse::kRepeated;
  } else if (text == "always") {
    *use = GraphUse::kAlways;
  } else {
    return plugin::invalid_argument("graphs is \"" + std::string(text) +
                                    "\"; it is one of: none, repeated, always");
  }
  return plugin::ok();
}

std::string_view usual_graph_use() {
  const char* const variable = std::getenv("SLUICE_CUDA_GRAPHS");
  return variable != nullptr ? variable : "repeated";
}

}  // namespace sluice::cuda
