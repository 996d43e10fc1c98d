// Weights of a model by name, as a file of them stores them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ir/attribute.h"

namespace sluice::weights {

/// Types, shapes and bytes by name. The bytes are slices of mapped files, which stay mapped while a
/// copy of a constant lives and must not change meanwhile. Safe to read from any thread.
class Weights {
 public:
  using Map = std::map<std::string, ir::Constant, std::less<>>;

  Weights() = default;
  explicit Weights(Map map) : map_(std::move(map)) {}

  /// Null without a tensor of that name.
  const ir::Constant* find(std::string_view name) const {
    const auto found = map_.find(name);
    return found == map_.end() ? nullptr : &found->second;
  }
  Map::const_iterator begin() const { return map_.begin(); }
  Map::const_iterator end() const { return map_.end(); }
  std::size_t size() const { return map_.size(); }

 private:
  Map map_;
};

}  // namespace sluice::weights
