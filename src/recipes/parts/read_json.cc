#include "recipes/parts/read_json.h"

#include <cstdint>

#include "base/file.h"
#include "base/json/json_reader.h"

namespace sluice::recipes {

Result<nlohmann::json> read_json(const std::filesystem::path& path) {
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 20;
  return parse_json(SLUICE_TRY(read_text_file(path, kMaxBytes)));
}

}  // namespace sluice::recipes
