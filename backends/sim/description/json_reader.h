// Strict reading of a JSON object. Unknown keys and values out of range are errors that name their
// path: `devices[1].copy.to_host.engines: 0 is out of range, 1 to 1024`.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/backend.hpp"

namespace sluice::sim {

using Json = nlohmann::json;
using plugin::Status;

/// Refuses what is no JSON, telling where, and an object with one key twice.
Status parse_json(std::string_view text, Json* json);

/// Reads one object. The first error is kept in `status`; after one nothing is read any more, so
/// callers ask for key after key and look at the status once. What is absent leaves its target
/// alone. `json` and `status` outlive the reader.
class ObjectReader {
 public:
  /// `path` names the object in messages; "" for the whole document.
  ObjectReader(const Json& json, std::string path, Status* status);

  /// Null if absent; else the key counts as known.
  const Json* find(const char* key);
  bool has(const char* key) { return find(key) != nullptr; }

  void integer(const char* key, std::int64_t least, std::int64_t most, std::int64_t* target);
  void integer(const char* key, std::int64_t least, std::int64_t most, int* target);
  /// Finite and in [least, most].
  void number(const char* key, double least, double most, double* target);
  void boolean(const char* key, bool* target);
  void text(const char* key, std::string* target);
  /// One of `names`; `target` gets its index.
  void one_of(const char* key, const std::vector<const char*>& names, int* target);
  void require(const char* key);

  /// Calls `read(const Json&, path)` for the object of `key`, if present.
  template <typename Read>
  void object(const char* key, const Read& read) {
    const Json* value = find(key);
    if (value != nullptr) read(*value, path_of(key));
  }
  /// `read(const Json&, path)` for every element of the array of `key`.
  template <typename Read>
  void array(const char* key, const Read& read) {
    const Json* value = find(key);
    if (value == nullptr || !check(value->is_array(), key, "must be an array")) return;
    for (std::size_t i = 0; i < value->size() && status_->is_ok(); ++i) {
      read((*value)[i], path_of(key) + "[" + std::to_string(i) + "]");
    }
  }

  /// Refuses keys that nobody asked for. Call it last.
  void finish();

  std::string path_of(const std::string& key) const;
  /// Keeps `problem` unless `condition`; returns whether all is well so far.
  bool check(bool condition, const std::string& key, const std::string& problem);

 private:
  const Json& json_;
  std::string path_;
  Status* status_;
  std::vector<std::string> known_;
};

}  // namespace sluice::sim
