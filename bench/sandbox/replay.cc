#include "replay.h"

#include <algorithm>
#include <thread>

#include "base/clock.h"

namespace sluice::bench {
namespace {

void sleep_until(std::int64_t due_ns) {
  const std::int64_t left_ns = due_ns - system_clock().now_ns();
  if (left_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left_ns));
}

}  // namespace

Result<Replay> replay(Target& target, std::size_t num_functions,
                      const std::vector<LoadRequest>& requests, std::int64_t deadline_ns) {
  Replay result;
  result.offered.resize(num_functions);
  result.answered.resize(num_functions);
  SLUICE_TRY(target.open());
  const std::int64_t start_ns = system_clock().now_ns();
  Status received = ok_status();
  std::thread receiver([&] {
    while (true) {
      const auto answer = target.next();
      if (!answer.is_ok()) received = answer.status();
      if (!answer.is_ok() || !*answer) return;
      const LoadRequest& request = requests[(*answer)->request];
      if (!(*answer)->is_ok) {
        ++result.num_failed;
        continue;
      }
      const std::int64_t latency_ns = system_clock().now_ns() - start_ns - request.due_ns;
      result.latencies_ns.push_back(latency_ns);
      if (latency_ns <= deadline_ns) ++result.answered[request.function];
    }
  });
  Status sent = ok_status();
  for (std::size_t i = 0; i < requests.size() && sent.is_ok(); ++i) {
    sleep_until(start_ns + requests[i].due_ns);
    result.lateness_ns.push_back(system_clock().now_ns() - start_ns - requests[i].due_ns);
    ++result.offered[requests[i].function];
    sent = target.send(i, requests[i].function);
  }
  target.close();
  receiver.join();
  SLUICE_TRY(std::move(sent));
  SLUICE_TRY(std::move(received));
  result.duration_ns = system_clock().now_ns() - start_ns;
  return result;
}

std::int64_t quantile(std::vector<std::int64_t> values, double share) {
  if (values.empty()) return 0;
  const auto last = static_cast<double>(values.size() - 1);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(last * share);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double fairness(const std::vector<double>& amounts) {
  double sum = 0;
  double squares = 0;
  for (const double amount : amounts) {
    sum += amount;
    squares += amount * amount;
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(amounts.size()) * squares);
}

}  // namespace sluice::bench
