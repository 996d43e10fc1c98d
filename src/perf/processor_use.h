// How busy the threads of this process are: whether a load generator is at its limit.
#pragma once

#include <cstdint>
#include <map>

namespace sluice::perf {

/// What the threads of the process used in an interval.
struct ProcessorUse {
  /// Share of the interval in which the busiest thread ran, or waited for a processor: 0 to 1.
  double busiest_thread = 0;
  double processors = 0;  ///< that all threads together used, on average
};

/// Times of the threads since they began. From /proc/self/task/*/schedstat, so all zero where the
/// kernel keeps no such statistics.
class ThreadTimes {
 public:
  static ThreadTimes now();
  /// Between `before` and this. A thread that has ended meanwhile does not count.
  ProcessorUse since(const ThreadTimes& before, std::int64_t duration_ns) const;

 private:
  struct Times {
    std::int64_t ran_ns = 0;
    std::int64_t waited_ns = 0;  ///< ready to run, without a processor
  };
  std::map<std::int32_t, Times> of_thread_;
};

}  // namespace sluice::perf
