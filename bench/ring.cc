// Nanoseconds that one record costs in a ring: pushed and popped by one thread, and handed from one
// thread to another. Target: under 60.
#include "base/ring.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace sluice {
namespace {

struct Record {
  void* data = nullptr;
  std::int64_t size_bytes = 0;
  void* cookie = nullptr;
};

constexpr std::int64_t kRecords = 50'000;
constexpr int kRounds = 301;  // short ones, so that some are not interrupted

double one_thread(Clock& clock) {
  Ring<Record> ring(64);
  Record record;
  const std::int64_t start = clock.now_ns();
  for (std::int64_t i = 0; i < kRecords; ++i) {
    (void)ring.try_push(record);
    (void)ring.try_pop(record);
  }
  return static_cast<double>(clock.now_ns() - start) / kRecords;
}

double two_threads(Clock& clock) {
  Ring<Record> ring(1024);
  const std::int64_t start = clock.now_ns();
  std::thread producer([&] {
    for (std::int64_t i = 0; i < kRecords; ++i) (void)ring.push({}, clock, kNoDeadline);
    ring.close();
  });
  Record record;
  while (ring.pop(record, clock, kNoDeadline) == RingResult::kDone) {
  }
  producer.join();
  return static_cast<double>(clock.now_ns() - start) / kRecords;
}

void report(const char* name, double (*measure)(Clock&)) {
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) rounds.push_back(measure(system_clock()));
  std::ranges::sort(rounds);
  fmt::print("  {:<12} median {:6.1f}   best {:6.1f}\n", name, rounds[kRounds / 2], rounds.front());
}

}  // namespace
}  // namespace sluice

int main() {
  fmt::print("ring, ns per push and pop, {} rounds of {}\n", sluice::kRounds, sluice::kRecords);
  sluice::report("one thread", sluice::one_thread);
  sluice::report("two threads", sluice::two_threads);
}
