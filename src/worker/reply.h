// A worker's answers as replies, and as statistics.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "package/executable.h"
#include "runtime/request.h"
#include "runtime/statistics/model_statistics.h"
#include "worker/flights.h"

namespace sluice::worker {

/// What the daemon hands on, whatever the worker said: kOk has all outputs of `signature`, each
/// with as many bytes as its shape says; anything else has an error. `where`: what the daemon knows
/// of the detail, which is filled if `wants_detail`.
runtime::Reply reply_of(Answer answer, const package::Signature& signature,
                        const std::string& model_name, bool wants_detail,
                        const runtime::ReplyDetail& where);

using ToldNumbers = std::array<std::int64_t, 4>;  ///< of a Bundle that is an answer

/// Where a worker says that the time of its answers went. Its clock may be a simulation's, so what
/// it tells may be more than the daemon measures: but not by so much, for all of a model's answers
/// together, that a sum over cores and models overflows. One thread at a time.
class ToldTimes {
 public:
  /// Of an answer that ran, and took `total_ns` on the daemon's clock.
  runtime::RequestTimes next(const ToldNumbers& numbers, std::int64_t total_ns);

 private:
  std::int64_t left_ns_ = std::int64_t{1} << 52;  ///< 52 days more than was measured
};

}  // namespace sluice::worker
