// What an operation of attention asks for: sizes of heads, and what is unknown of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "plugin/generate/text/source.h"

namespace sluice::cuda {

/// Inputs of ONNX's Attention and of sluice::Attention.
enum AttentionInput : int { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kKeep };

/// ONNX's input 6: how many keys of each batch element count.
inline constexpr int kLengths = 6;

/// Whether the operation is Sluice's, not ONNX's.
bool is_own(const sluice_op& op);
bool has_input(const sluice_op& op, int input);
bool has_output(const sluice_op& op, int output);
/// Whether it has ONNX's input kLengths.
bool has_lengths(const sluice_op& op);

/// A tensor of heads, [batch, heads, length, size] or [batch, length, heads * size].
struct Heads {
  std::int64_t batch = -1, heads = -1, length = -1, size = -1;
  bool is_packed = false;

  /// Where the elements of a head at one place begin.
  std::string start(const std::string& b, const std::string& head, const std::string& at) const;
};

/// False where the tensor cannot be one of heads: its axes are four, or three, and then the
/// attribute says how many heads there are.
bool find_heads(const sluice_op& op, const sluice_tensor& tensor, const char* attribute,
                Heads* heads);

/// Sizes are -1 where they are unknown.
struct Problem {
  Heads q, k, v, y;
  std::int64_t past = 0;       ///< keys before those of this run
  std::int64_t keys = -1;      ///< all of them
  std::int64_t mask_keys = 0;  ///< the mask hides later ones

  /// Rows of scores.
  std::int64_t rows() const { return q.batch * q.heads * q.length; }
  /// Query heads that share keys.
  std::int64_t group() const { return q.heads / k.heads; }
};

/// False if the sizes contradict each other.
bool find_problem(const sluice_op& op, Problem* problem);

/// UNIMPLEMENTED or INVALID_ARGUMENT where no kernel computes the operation.
Status check_attention(const sluice_op& op);

/// What the scores are multiplied by. Requires: the size of a head is known.
float scale_of(const sluice_op& op, const Problem& problem);

}  // namespace sluice::cuda
