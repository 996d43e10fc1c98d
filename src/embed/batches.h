// Texts side by side, filled up to a length that many runs have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "embed/text_model.h"
#include "terms/tensors/signature.h"
#include "text/encoding.h"

namespace sluice::embed {

/// The rows of one run.
struct Batch {
  std::vector<std::size_t> texts;  ///< by place among all
  std::int64_t length = 0;         ///< of each row, filled up
};

/// Divides texts into runs: those of about one length together, and not too many, so that a run
/// takes milliseconds and its memory is bounded. A text is in one of them.
std::vector<Batch> plan_batches(std::span<const text::Encoding> texts, const Facts& facts);

/// Inputs of a run, i64[rows, length] each. Movable: views point into memory that stays.
class Rows {
 public:
  Rows(const Batch& batch, std::span<const text::Encoding> texts, const Facts& facts);

  /// By index in the model's signature; they borrow the rows.
  std::vector<std::pair<std::size_t, terms::TensorView>> inputs(const Ports& ports);
  std::int64_t num_rows() const { return num_rows_; }

 private:
  terms::TensorView view_of(std::vector<std::int64_t>& numbers) const;

  std::int64_t num_rows_;
  std::int64_t length_;
  std::vector<std::int64_t> ids_, mask_, types_;
};

}  // namespace sluice::embed
