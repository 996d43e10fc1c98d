// Requests and answers as bytes in memory that a daemon and its worker share.
//
//     table: u64 table_bytes, 8 x i64 numbers, text, errors, tensors (type, shape, offset, size)
//     data of each tensor, at multiples of 64
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exec/value.h"
#include "terms/runtime_code.h"

namespace sluice::worker {

/// One request, or one answer. Tensors point to memory of somebody else.
struct Bundle {
  std::array<std::int64_t, 8> numbers = {};  ///< what they are, the user of the bundle says
  std::string text;
  struct Error {
    std::int32_t runtime_code = 0;
    std::string message;
  };
  std::vector<Error> errors;
  std::vector<terms::TensorView> tensors;
};

/// How much of `to` the bundle takes, or more than `to` has if it does not fit. A tensor that lies
/// in `to` already, at a multiple of 64, stays where it is.
std::int64_t bundle_bytes(const Bundle& bundle, std::span<const std::byte> to = {});
/// Copies what does not lie in `to` yet. Requires: the bundle fits; `to` is aligned to 64.
void write_bundle(const Bundle& bundle, std::span<std::byte> to);
/// Copies the table before checking it. Tensors point into `from`, whose other owner may change the
/// bytes but not the number of tensors.
/// Fails: kInvalidArgument for a malformed bundle.
Result<Bundle> read_bundle(std::span<std::byte> from);

}  // namespace sluice::worker
