#include "terms/group.h"

#include "terms/runtime_code.h"

namespace sluice::terms {

std::string_view isolation_name(Isolation isolation) {
  return isolation == Isolation::kProcess ? "process" : "stream";
}

Result<Isolation> parse_isolation(std::string_view name) {
  for (const Isolation isolation : {Isolation::kStream, Isolation::kProcess}) {
    if (isolation_name(isolation) == name) return isolation;
  }
  return runtime_error(RuntimeCode::kInvalid, "isolation: \"{}\"; there are stream and process",
                       name.substr(0, 100));
}

}  // namespace sluice::terms
