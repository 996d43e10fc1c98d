// When a model will have answered a request, judged by what it did with earlier ones.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/line/completion_pace.h"
#include "runtime/line/waiting_line.h"

namespace sluice::runtime {

/// Judges requests by their deadlines. A line in the order of deadlines starts each request at the
/// last moment, and under overload all of them are late. So a request is refused if those ahead of
/// it take too long, and leaves the line when a run no longer fits.
///
/// A run is compared with earlier ones of about as many input bytes, since a model may take any
/// shape. Before its fourth run a model is not judged, because first runs plan and allocate, nor
/// after a second without a run, because its numbers are old. Not thread-safe.
class Forecast {
 public:
  /// A request arrived at an idle model.
  void resume(std::int64_t now_ns) { pace_.resume(now_ns); }
  /// So many requests were answered together.
  void complete(std::int64_t now_ns, std::int64_t num_requests = 1) {
    pace_.complete(now_ns, num_requests);
  }
  /// Requests that are compared: the number of bits of their input bytes.
  static std::size_t class_of(const Request& request);
  /// A run from `start_ns`, after its wait, ended now.
  void note_run(std::size_t run_class, std::int64_t start_ns, std::int64_t now_ns);
  /// It was stopped: it takes at least as long.
  void note_stopped(std::size_t run_class, std::int64_t start_ns, std::int64_t now_ns);

  /// As CompletionPace.
  std::int64_t retry_after_ns(std::int64_t num_waiting) const {
    return pace_.retry_after_ns(num_waiting);
  }
  std::int64_t wait_ns(std::int64_t num_ahead, std::int64_t now_ns) const {
    return pace_.wait_ns(num_ahead, now_ns);
  }
  /// Whether the request is most likely late if it waits so long before its run.
  bool is_hopeless(const Request& request, std::int64_t wait_ns, std::int64_t now_ns) const;
  /// One of a hundred runs like this, started now, would be late, or more.
  bool is_risky(const Request& request, std::int64_t now_ns) const;
  /// What a request that leaves the line is told: kTimeout. `subject` is as in `model "m"`.
  Status too_late(std::string_view subject, const Request& request, std::int64_t wait_ns,
                  std::int64_t now_ns) const;

 private:
  struct Runs {
    std::int64_t num_runs = 0;
    std::int64_t average_ns = 0;
    std::int64_t excess_ns = 0;  ///< average of what runs take more than the average
    std::int64_t noted_ns = 0;
  };
  /// Null if there is nothing to go by.
  const Runs* runs_like(const Request& request, std::int64_t now_ns) const;

  CompletionPace pace_;
  std::array<Runs, 64> runs_;  ///< by class
};

/// Removes requests from the front of the line: hopeless ones, and risky ones as long as another of
/// the same priority waits, which has more time.
template <typename Waiting, typename RequestOf>
std::vector<Waiting> take_late(WaitingLine<Waiting>& line, const Forecast& forecast,
                               std::int64_t now_ns, const RequestOf& request_of) {
  std::vector<Waiting> late;
  while (const Waiting* front = line.front()) {
    const Request& request = request_of(*front);
    const Waiting* next = line.second();
    const bool has_rival = next != nullptr && request_of(*next).priority == request.priority;
    const bool is_late = forecast.is_hopeless(request, 0, now_ns) ||
                         (has_rival && forecast.is_risky(request, now_ns));
    if (!is_late) break;
    late.push_back(std::move(*line.pop()));
  }
  return late;
}

}  // namespace sluice::runtime
