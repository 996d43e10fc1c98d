#include "weights/folder.h"

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json/json_reader.h"
#include "weights/safetensors.h"

namespace sluice::weights {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWhole = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr std::int64_t kMaxIndexBytes = 100'000'000;

Result<Weights> open_file(const fs::path& path) {
  const Bytes file = SLUICE_TRY(map_file(path));
  return read_safetensors(file).with_context(path.filename().string());
}

bool is_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

/// Shard by name of its tensors.
Result<std::map<std::string, std::string>> read_index(const fs::path& path) {
  const std::string text = SLUICE_TRY(read_text_file(path, kMaxIndexBytes));
  const nlohmann::json json = SLUICE_TRY(parse_json(text));
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object()) {
    return invalid_argument("weight_map: expected an object of file names by tensor");
  }
  std::map<std::string, std::string> shards;
  for (const auto& [name, shard] : map->items()) {
    if (!shard.is_string() || !is_file_name(shard.get_ref<const std::string&>())) {
      return invalid_argument("tensor \"{}\": {} is not the name of a file in the folder", name,
                              shard.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
    }
    shards.emplace(name, shard.get<std::string>());
  }
  return shards;
}

}  // namespace

Result<Weights> open_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / kIndex, error)) {
    if (fs::exists(folder / kWhole, error)) return open_file(folder / kWhole);
    return make_error(Code::kNotFound, "\"{}\" has neither {} nor {}", folder.string(), kWhole,
                      kIndex);
  }
  auto index = read_index(folder / kIndex);
  const auto shards = SLUICE_TRY(std::move(index).with_context(kIndex));
  std::map<std::string, Weights> opened;
  Weights::Map map;
  for (const auto& [name, shard] : shards) {
    auto at = opened.find(shard);
    if (at == opened.end()) {
      at = opened.emplace(shard, SLUICE_TRY(open_file(folder / shard))).first;
    }
    const ir::Constant* constant = at->second.find(name);
    if (constant == nullptr) {
      return invalid_argument("{}: tensor \"{}\" is not in {}", kIndex, name, shard);
    }
    map.emplace(name, *constant);
  }
  return Weights(std::move(map));
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / kIndex, error)) {
    if (fs::exists(folder / kWhole, error)) return {folder / kWhole};
    return {};
  }
  std::vector<fs::path> files = {folder / kIndex};
  const auto shards = read_index(folder / kIndex);
  if (!shards.is_ok()) return files;
  std::set<std::string> names;
  for (const auto& [name, shard] : *shards) names.insert(shard);
  for (const std::string& name : names) files.push_back(folder / name);
  return files;
}

}  // namespace sluice::weights
