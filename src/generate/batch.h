// The rows of one run of a language model: pieces of sequences, side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "generate/pages/page_pool.h"
#include "generate/ports.h"
#include "generate/sequence.h"
#include "terms/tensors/signature.h"

namespace sluice::generate {

/// Used by one thread at a time.
class Batch {
 public:
  /// `context`: the most tokens of a sequence.
  Batch(const Ports& ports, std::int64_t context) : ports_(ports), context_(context) {}

  void clear();
  /// Adds a piece whose pages are there up to its end.
  void add(const Sequence::Piece& piece, const Pages& pages);
  std::int64_t num_rows() const { return std::ssize(ids_); }
  /// Rows of the logits: after `inputs`, those that fill up are among them.
  std::int64_t num_sequences() const { return std::ssize(last_); }

  /// Inputs of the model besides its states, by index in its signature. They borrow the batch until
  /// `clear`; nothing is added after this.
  ///
  /// Rows and sequences are rounded up, so that a model meets few shapes: what is left repeats the
  /// last row, which computes and writes the same once more.
  std::vector<std::pair<std::size_t, terms::TensorView>> inputs();

 private:
  void fill_up();

  Ports ports_;
  std::int64_t context_;
  std::vector<std::int64_t> ids_, positions_, sequences_;  ///< of rows
  std::vector<std::int64_t> tables_;                       ///< [sequences, blocks_]
  std::vector<std::int64_t> last_;                         ///< row of each sequence's last token
  std::vector<std::int64_t> adapters_;                     ///< of sequences
  std::int64_t blocks_ = 0;
};

/// How many rows a run has for `count` of them: few numbers, at most a quarter and one more.
std::int64_t rounded_rows(std::int64_t count);

}  // namespace sluice::generate
