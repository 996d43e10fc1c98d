#include "runtime/model/request_name.h"

#include "package/facts.h"

namespace sluice::runtime {

std::string name_of(const LoadRequest& request, const char* fallback) {
  if (!request.name.empty()) return request.name;
  // Before the package's own: who names a file again means it.
  if (!request.path.empty()) return request.path.stem().string();
  const std::string own =
      request.executable == nullptr ? "" : package::name_of(*request.executable);
  return own.empty() ? fallback : own;
}

}  // namespace sluice::runtime
