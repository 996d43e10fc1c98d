// How a text's vector is made of its tokens', as the files of sentence-transformers say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/result.h"
#include "recipes/parts/builder.h"

namespace sluice::recipes {

struct Pooling {
  enum class Kind { kMean, kFirst, kLast, kMax };
  Kind kind = Kind::kMean;
  bool is_normalized = false;                   ///< to length 1
  std::optional<std::int64_t> max_tokens = {};  ///< of a text, where it is less than the context
};

/// Reads a folder's `modules.json`, `sentence_bert_config.json` and the settings of its modules.
/// Without modules.json the pooling is the mean of all tokens, not normalized, as in
/// sentence-transformers.
/// Fails: kInvalidArgument  a damaged file
///        kUnimplemented    a module or a way that is not known, by name
Result<Pooling> read_pooling(const std::filesystem::path& folder);

/// The files that it may read.
std::vector<std::filesystem::path> files_of_pooling(const std::filesystem::path& folder);

/// x f32[N, S, width] and mask i64[N, S] to f32[N, width].
OperandId pool(Builder& build, const Pooling& pooling, OperandId x, OperandId mask);

}  // namespace sluice::recipes
