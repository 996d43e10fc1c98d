// Requests of a function that run as one: their rows, the leading dimension of all tensors, lie one
// behind the other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "runtime/request/request.h"

namespace sluice::sandbox {

inline constexpr std::int32_t kMaxBatchRows = 65536;

/// Whether requests of a model may be joined: the first dimension of every input and output must be
/// the same symbol. Fails: kInvalid, naming the tensor.
Status check_joinable(std::string_view function, const package::Signature& signature);

/// Rows of a request that can be joined; 0 for one that must run alone, perhaps to its error.
/// Requires: check_joinable.
std::int64_t rows_of(const runtime::Request& request, const package::Signature& signature);
/// Whether all but the rows of two requests are of the same shapes. Requires: rows_of both > 0.
bool has_same_rows(const runtime::Request& a, const runtime::Request& b);

/// One request for the rows of all, with copies of the inputs and the latest of their deadlines; it
/// has no on_done. Nullopt without memory for the copies. Requires: has_same_rows of all with the
/// first.
std::optional<runtime::Request> join(std::span<const runtime::Request* const> requests);

/// Whether every output has a row for each of `num_rows`.
bool has_rows(const runtime::Reply& reply, std::int64_t num_rows);
/// The part of a joined reply that answers `request`. Its outputs share the memory of the joined
/// outputs; an output for which the request brings memory is copied to that memory.
/// A reply of kOutOfResources says which memory is too small. Requires: has_rows.
runtime::Reply part_of(const runtime::Reply& joined, std::int64_t num_rows, std::int64_t first_row,
                       const runtime::Request& request, const package::Signature& signature);

}  // namespace sluice::sandbox
