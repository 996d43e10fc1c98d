#include "perf/measure.h"

#include <fmt/format.h>
#include <sched.h>

#include <condition_variable>
#include <mutex>
#include <vector>

namespace sluice::perf {
namespace {

constexpr double kBusy = 0.9;
constexpr double kLateShare = 0.1;
/// How often a replay is asked whether it is over.
constexpr std::int64_t kLookNs = 10'000'000;

/// One request, and its answer.
Status try_once(Target& target) {
  std::mutex mutex;
  std::condition_variable answered;
  bool is_answered = false;
  Status status;
  target.send(0, [&](const Status& answer) {
    const std::lock_guard lock(mutex);
    status = answer;
    is_answered = true;
    answered.notify_all();
  });
  std::unique_lock lock(mutex);
  answered.wait(lock, [&] { return is_answered; });
  return status;
}

void pass(Clock& clock, std::int64_t until_ns) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  while (clock.now_ns() < until_ns) clock.wait_until(lock, never, until_ns);
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

std::string generator_limit(const Window& figures, const LoadForm& form, bool is_in_process,
                            int num_processors) {
  const auto count = static_cast<double>(figures.latencies_ns.size());
  const double late_ns = count > 0 ? static_cast<double>(figures.late_ns) / count : 0;
  if (form.is_open() && late_ns > kLateShare * figures.mean_ns()) {
    return fmt::format("requests left {:.0f} us late on average", late_ns / 1e3);
  }
  if (is_in_process) return {};
  if (figures.generator.busiest_thread >= kBusy) {
    return fmt::format("its busiest thread had no pause for {:.0f} % of the time",
                       100 * figures.generator.busiest_thread);
  }
  if (figures.generator.processors >= kBusy * num_processors) {
    return fmt::format("it used {:.1f} of {} processors", figures.generator.processors,
                       num_processors);
  }
  return {};
}

Result<Measurement> measure(Target& target, const LoadForm& form, const MeasureOptions& options,
                            Clock& clock) {
  // What refuses one request refuses all; one that is late on a busy machine is a figure.
  const Status first = try_once(target);
  if (!first.is_ok() && first.code() != Code::kDeadlineExceeded) return first;
  const auto load = Load::start(target, form, clock);
  std::vector<Window> windows;
  Measurement measurement;
  measurement.form = form;
  if (form.arrivals_ns != nullptr) {
    while (!load->is_over()) pass(clock, clock.now_ns() + kLookNs);
    windows.push_back(load->take());
    measurement.is_stable = true;
  }
  for (int i = 0; i < options.max_windows && !measurement.is_stable; ++i) {
    pass(clock, clock.now_ns() + options.window_ns);
    windows.push_back(load->take());
    if (windows.size() > kStableWindows) windows.erase(windows.begin());
    measurement.is_stable =
        windows.size() == kStableWindows && is_stable(windows, options.tolerance);
  }
  measurement.figures = merge(windows);
  measurement.limit =
      generator_limit(measurement.figures, form, target.is_in_process(), usable_processors());
  return measurement;
}

}  // namespace sluice::perf
