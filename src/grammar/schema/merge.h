// Two JSON schemas as one that says both.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>

#include "base/result.h"

namespace sluice::grammar {

/// The merges of one text. Used by one thread at a time.
class Merger {
 public:
  /// Limit of all merges: values that are copied or compared, and the 64 bytes of texts.
  static constexpr std::size_t kMaxWork = std::size_t{1} << 22;

  /// What `schema` and `other` say together. Requires: both are objects without "$ref".
  /// Fails: kUnimplemented, naming the word, where their words cannot be one; kInvalidArgument
  ///        beyond kMaxWork. `path`: for these messages.
  Result<nlohmann::ordered_json> merge(const nlohmann::ordered_json& schema,
                                       const nlohmann::ordered_json& other,
                                       const std::string& path);

  std::size_t work() const { return work_; }

 private:
  Status spend(std::size_t work, const std::string& path);

  std::size_t work_ = 0;
};

}  // namespace sluice::grammar
