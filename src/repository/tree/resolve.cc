#include "repository/tree/resolve.h"

#include <algorithm>
#include <system_error>

namespace sluice::repository {

namespace fs = std::filesystem;

Result<fs::path> resolve(const fs::path& path, const fs::path& root) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (error) return make_error(Code::kNotFound, "\"{}\": {}", path.string(), error.message());
  const auto [in_root, in_real] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  if (in_root == root.end() && in_real != real.end()) return real;
  return invalid_argument("\"{}\" is a link that leads out of the repository", path.string());
}

}  // namespace sluice::repository
