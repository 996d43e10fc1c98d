// A worker's answers as replies, and as statistics.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "package/executable.h"
#include "runtime/request/request.h"
#include "runtime/statistics/model_statistics.h"
#include "worker/link/flights.h"

namespace sluice::worker {

/// Converts a worker's answer to a valid reply. kOk has all outputs of `signature`, each with the
/// bytes of its shape; every other code has an error. `where`: the daemon's part of the detail,
/// which is filled if `wants_detail`.
runtime::Reply reply_of(Answer answer, const terms::Signature& signature,
                        const std::string& model_name, bool wants_detail,
                        const terms::ReplyDetail& where);

using ToldNumbers = std::array<std::int64_t, 8>;  ///< of an answer, as protocol/setup.h says

/// Checks the times that a worker reports. A worker's clock may be virtual, so its times may exceed
/// the daemon's measurement. The class bounds their sum per model, so that no sum over cores and
/// models overflows. One thread at a time.
class ToldTimes {
 public:
  /// Times of an answer that ran, and took `total_ns` on the daemon's clock.
  runtime::RequestTimes next(const ToldNumbers& numbers, std::int64_t total_ns);

 private:
  std::int64_t left_ns_ = std::int64_t{1} << 52;  ///< 52 days more than was measured
};

}  // namespace sluice::worker
