// Weights of a model by name, as a file of them stores them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ir/attribute.h"

namespace sluice::weights {

/// A matrix [N, K], or a stack [E, N, K] of them, of few bits: `block_size` numbers of a row share
/// a scale, and a zero point where there are any. A weight is (number - zero) * scale, as
/// `sluice::NarrowMatMul` and `sluice::RoutedMatMul` take it.
struct Blocks {
  ir::Constant numbers;               ///< i4, u4, i8 or u8 [.., N, K]
  ir::Constant scales;                ///< f32 [.., N, K / block_size]
  std::optional<ir::Constant> zeros;  ///< f32, as the scales; absent: 0
  std::int64_t block_size = 0;
};

/// Types, shapes and bytes by name. The bytes are slices of mapped files, which stay mapped while a
/// copy of a constant lives and must not change meanwhile; those of blocks are memory of their own.
/// A name is in one of the two maps. Safe to read from any thread.
class Weights {
 public:
  using Map = std::map<std::string, ir::Constant, std::less<>>;
  using BlockMap = std::map<std::string, Blocks, std::less<>>;

  Weights() = default;
  explicit Weights(Map map, BlockMap blocks = {})
      : map_(std::move(map)), blocks_(std::move(blocks)) {}

  /// Null without a tensor of that name.
  const ir::Constant* find(std::string_view name) const {
    const auto found = map_.find(name);
    return found == map_.end() ? nullptr : &found->second;
  }
  const Blocks* find_blocks(std::string_view name) const {
    const auto found = blocks_.find(name);
    return found == blocks_.end() ? nullptr : &found->second;
  }
  Map::const_iterator begin() const { return map_.begin(); }
  Map::const_iterator end() const { return map_.end(); }
  std::size_t size() const { return map_.size(); }
  const BlockMap& blocks() const { return blocks_; }

 private:
  Map map_;
  BlockMap blocks_;
};

}  // namespace sluice::weights
