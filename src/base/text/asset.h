// Files of the source tree that are in the binary.
#pragma once

#include <string_view>

namespace sluice {

/// A file. All views live for ever.
struct Asset {
  std::string_view name;  ///< "app.js"
  std::string_view etag;  ///< of its content, with quotes
  std::string_view bytes;
};

}  // namespace sluice
