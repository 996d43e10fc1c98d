#include "perf/processor_use.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace sluice::perf {

ThreadTimes ThreadTimes::now() {
  ThreadTimes times;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const std::string name = task.path().filename().string();
    std::int32_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    std::ifstream file(task.path() / "schedstat");
    Times of;
    if (file >> of.ran_ns >> of.waited_ns) times.of_thread_[thread] = of;
  }
  return times;
}

ProcessorUse ThreadTimes::since(const ThreadTimes& before, std::int64_t duration_ns) const {
  ProcessorUse use;
  if (duration_ns <= 0) return use;
  const auto duration = static_cast<double>(duration_ns);
  for (const auto& [thread, times] : of_thread_) {
    const auto it = before.of_thread_.find(thread);
    const Times start = it == before.of_thread_.end() ? Times{} : it->second;
    const auto ran = static_cast<double>(times.ran_ns - start.ran_ns);
    const auto waited = static_cast<double>(times.waited_ns - start.waited_ns);
    use.processors += ran / duration;
    use.busiest_thread = std::max(use.busiest_thread, (ran + waited) / duration);
  }
  return use;
}

}  // namespace sluice::perf
