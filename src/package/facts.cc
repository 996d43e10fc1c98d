#include "package/facts.h"

#include "base/utf8.h"

namespace sluice::package {

std::string name_of(const Executable& executable) {
  const auto fact = executable.graph.metadata.find(kNameFact);
  // A file's author wrote it, who is anybody.
  const bool has_name =
      fact != executable.graph.metadata.end() && check_name(fact->second, "model").is_ok();
  return has_name ? fact->second : "";
}

}  // namespace sluice::package
