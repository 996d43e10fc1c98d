#include "runtime/line/forecast.h"

#include <algorithm>
#include <bit>

namespace sluice::runtime {
namespace {

// A run weighs an eighth, as in CompletionPace.
constexpr std::int64_t kWeight = 8;
// For normally distributed times six average excesses are 2.4 standard deviations: 99 of 100 runs.
constexpr std::int64_t kExcesses = 6;
constexpr std::int64_t kFirstRuns = 4;
constexpr std::int64_t kTrustNs = 1'000'000'000;
constexpr std::int64_t kNsPerMs = 1'000'000;
// An hour: sums of a run and of a line of 65,536 requests stay below 2^63.
constexpr std::int64_t kLongestNs = 3'600'000'000'000;

std::int64_t time_left_ns(const Request& request, std::int64_t now_ns) {
  return request.deadline_ns == kNoDeadline ? kNoDeadline : request.deadline_ns - now_ns;
}

}  // namespace

std::size_t Forecast::class_of(const Request& request) {
  std::uint64_t bytes = 0;
  for (const terms::TensorView& input : request.inputs) {
    bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(input.size_bytes, 0));
  }
  return std::min<std::size_t>(std::bit_width(bytes), 63);
}

void Forecast::note_run(std::size_t run_class, std::int64_t start_ns, std::int64_t now_ns) {
  Runs& runs = runs_.at(run_class);
  runs.noted_ns = now_ns;
  const std::int64_t run_ns = std::clamp<std::int64_t>(now_ns - start_ns, 1, kLongestNs);
  if (runs.num_runs++ < kFirstRuns) {
    runs.average_ns = runs.num_runs == 1 ? run_ns : std::min(runs.average_ns, run_ns);
    return;
  }
  // A pause of the machine is no reason to refuse requests, a slower machine is one after a while.
  const std::int64_t more_ns = std::min(run_ns - runs.average_ns, runs.average_ns);
  runs.average_ns = std::max<std::int64_t>(runs.average_ns + more_ns / kWeight, 1);
  // Runs that become shorter must not widen the margin.
  runs.excess_ns += (std::max<std::int64_t>(more_ns, 0) - runs.excess_ns) / kWeight;
}

void Forecast::note_stopped(std::size_t run_class, std::int64_t start_ns, std::int64_t now_ns) {
  if (now_ns - start_ns > runs_.at(run_class).average_ns) note_run(run_class, start_ns, now_ns);
}

const Forecast::Runs* Forecast::runs_like(const Request& request, std::int64_t now_ns) const {
  const Runs& runs = runs_.at(class_of(request));
  const bool holds = runs.num_runs >= kFirstRuns && now_ns - runs.noted_ns <= kTrustNs;
  return holds ? &runs : nullptr;
}

bool Forecast::is_hopeless(const Request& request, std::int64_t wait_ns,
                           std::int64_t now_ns) const {
  if (request.deadline_ns == kNoDeadline) return false;
  const Runs* runs = runs_like(request, now_ns);
  return runs != nullptr && time_left_ns(request, now_ns) < wait_ns + runs->average_ns;
}

bool Forecast::is_risky(const Request& request, std::int64_t now_ns) const {
  if (request.deadline_ns == kNoDeadline) return false;
  const Runs* runs = runs_like(request, now_ns);
  return runs != nullptr &&
         time_left_ns(request, now_ns) < runs->average_ns + kExcesses * runs->excess_ns;
}

Status Forecast::too_late(std::string_view subject, const Request& request, std::int64_t wait_ns,
                          std::int64_t now_ns) const {
  const Runs& runs = runs_.at(class_of(request));
  const std::int64_t after_ns = wait_ns + runs.average_ns + kExcesses * runs.excess_ns;
  const std::int64_t left_ns = std::max<std::int64_t>(time_left_ns(request, now_ns), 0);
  return terms::runtime_error(
      RuntimeCode::kTimeout,
      "{}: the reply may take {:.1f} ms, {:.1f} ms of them in the waiting line, and "
      "the deadline is in {:.1f} ms; send fewer requests or give them more time",
      subject, static_cast<double>(after_ns) / kNsPerMs, static_cast<double>(wait_ns) / kNsPerMs,
      static_cast<double>(left_ns) / kNsPerMs);
}

}  // namespace sluice::runtime
