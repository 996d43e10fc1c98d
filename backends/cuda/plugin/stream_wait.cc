#include "plugin/stream_wait.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace sluice::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSpin(1);
// Between two questions behind the spin, where the caller limits the wait.
constexpr std::chrono::microseconds kPoll(20);

CuResult ask_until(const Driver& driver, CuStream stream, Clock::time_point end) {
  while (true) {
    const CuResult result = driver.table.stream_query(stream);
    if (result != CuResult::kNotReady || Clock::now() >= end) return result;
  }
}

CuResult sleep_until_idle(const Driver& driver, CuStream stream, CuEvent* event) {
  const DriverTable& cu = driver.table;
  CuResult result = CuResult::kSuccess;
  if (*event == nullptr) {
    result = cu.event_create(event, kEventBlockingSync | kEventDisableTiming);
  }
  if (result == CuResult::kSuccess) result = cu.event_record(*event, stream);
  if (result == CuResult::kSuccess) result = cu.event_synchronize(*event);
  // Tells errors of the work too, and stands in where an event cannot be had.
  return cu.stream_synchronize(stream);
}

}  // namespace

CuResult wait_for_stream(const Driver& driver, CuStream stream, CuEvent* event,
                         std::int64_t timeout_ns) {
  // An emulated device works while a thread waits, and slowly: nothing ends within the spin.
  const Clock::time_point start = Clock::now();
  const Clock::time_point spun = driver.is_emulated ? start : start + kSpin;
  if (timeout_ns < 0) {
    CuResult result = CuResult::kNotReady;
    if (!driver.is_emulated) result = ask_until(driver, stream, spun);
    return result == CuResult::kNotReady ? sleep_until_idle(driver, stream, event) : result;
  }
  const Clock::time_point end = start + std::chrono::nanoseconds(timeout_ns);
  CuResult result = ask_until(driver, stream, std::min(spun, end));
  while (result == CuResult::kNotReady && Clock::now() < end) {
    if (!driver.is_emulated) std::this_thread::sleep_for(kPoll);
    result = driver.table.stream_query(stream);
  }
  return result;
}

}  // namespace sluice::cuda
