// The tokens of a vocabulary by their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace sluice::grammar {

/// A prefix tree whose nodes lie in the order of a walk: a node's children and theirs follow it.
/// Immutable; safe across threads.
class TokenTrie {
 public:
  /// Longer tokens are in no mask.
  static constexpr std::size_t kMaxTokenBytes = 1024;

  /// Special tokens, which are no part of a text, are left out. Takes a microsecond for each token.
  /// Fails: as Tokenizer::decode.
  static Result<TokenTrie> create(const text::Tokenizer& tokenizer);
  /// `tokens`: bytes of each id; empty ones are left out.
  explicit TokenTrie(const std::vector<std::string>& tokens);

  struct Node {
    std::uint8_t byte;
    std::uint16_t depth;        ///< bytes up to here
    std::uint32_t end;          ///< the node behind its children and theirs
    std::uint32_t first_token;  ///< of those that end here, up to the next node's
  };
  /// Without the root, whose children have depth 1; behind the last one lies one that ends its
  /// tokens.
  std::size_t num_nodes() const { return nodes_.size() - 1; }
  const Node& node(std::size_t index) const { return nodes_[index]; }
  /// Ids of tokens that end at the node.
  std::span<const std::int32_t> tokens(std::size_t index) const {
    return std::span(ids_).subspan(nodes_[index].first_token,
                                   nodes_[index + 1].first_token - nodes_[index].first_token);
  }
  /// Empty for tokens that are left out.
  std::string_view bytes(std::int64_t token) const;
  /// One more than the largest id.
  std::size_t end_id() const { return offsets_.size() - 1; }
  std::size_t size_bytes() const;

 private:
  std::vector<Node> nodes_;
  std::vector<std::int32_t> ids_;
  std::string bytes_;
  std::vector<std::uint32_t> offsets_;  ///< of each id's bytes, and one behind
};

}  // namespace sluice::grammar
