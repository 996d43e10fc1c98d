// Requests of a model that run as one: their rows, the leading dimension of all tensors, lie one
// behind the other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "package/executable.h"
#include "runtime/request/request.h"

namespace sluice::runtime {

/// The rules by which requests of one model are joined.
struct JoinRule {
  std::int64_t max_rows = 0;      ///< of a run
  std::int64_t max_delay_ns = 0;  ///< the longest time that a request waits for others
  /// The model was compiled for `max_rows` rows and no others: zeros fill a run up.
  bool is_padded = false;
  terms::Signature signature;  ///< the model's; the leading dimensions are a symbol
};

/// The leading dimensions of all inputs and outputs must be one symbol, or one number, which is
/// the number of rows then. The graph must carry each row by itself, which is proved here. `model`
/// is what messages call it, as in `model "m"`.
/// Fails: kInvalid, naming the tensor, or the operation that mixes rows; for options out of range.
Result<JoinRule> join_rule(std::string_view model, const package::Executable& executable,
                           const terms::BatchOptions& options);

/// Rows of a request that can be joined; 0 for one that must run alone, perhaps to its error.
std::int64_t rows_of(const Request& request, const JoinRule& rule);
/// Whether all but the rows of two requests are of the same shapes. Requires: rows_of both > 0.
bool has_same_rows(const Request& a, const Request& b);

/// One request for the rows of all, with copies of the inputs, the latest of their deadlines and
/// the shortest of their limits of a run; it has no on_done. Nullopt without memory for the copies.
/// Requires: has_same_rows of all with the first, and at most `max_rows` rows in all.
std::optional<Request> joined_request(std::span<const Request* const> requests,
                                      const JoinRule& rule);
/// The request for up to `max_rows` rows of a larger one, from row `first` on. It reads the memory
/// of `whole`, or a copy that is filled up. Nullopt without memory for the copy.
/// Requires: is_padded.
std::optional<Request> rows_from(const Request& whole, std::int64_t first, const JoinRule& rule);

/// Whether every output has a row for each of `num_rows`.
bool has_rows(const Reply& reply, std::int64_t num_rows);
/// The part of a joined reply that answers `request`, which has `rows` rows. Its outputs share the
/// memory of the joined outputs; an output for which the request brings memory is copied to that
/// memory. A reply of kOutOfResources says which memory is too small. Requires: has_rows.
Reply part_of(const Reply& joined, std::int64_t first_row, std::int64_t rows,
              const Request& request, const terms::Signature& signature);
/// Copies the rows of `part` into the reply of `rows` rows to `request`, from row `first` on. The
/// first call makes the outputs. Fails: kOutOfResources. Requires: has_rows.
Status add_rows(const Reply& part, std::int64_t first, std::int64_t rows, const Request& request,
                const terms::Signature& signature, Reply& whole);

}  // namespace sluice::runtime
