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

Result<Replay> replay(rpc::client::Client& client, const std::vector<std::uint64_t>& functions,
                      const std::vector<rpc::client::NamedTensor>& inputs,
                      const std::vector<std::int64_t>& arrivals_ns) {
  Replay result;
  result.answered.resize(functions.size());
  const auto stream = SLUICE_TRY(client.open_stream());
  const std::int64_t start_ns = system_clock().now_ns();
  Status received = ok_status();
  std::thread receiver([&] {
    while (true) {
      auto answer = stream->next();
      if (!answer.is_ok()) received = answer.status();
      if (!answer.is_ok() || !*answer) return;
      const auto request = static_cast<std::size_t>((*answer)->id);
      if (!(*answer)->reply.is_ok()) {
        ++result.num_failed;
        continue;
      }
      ++result.answered[request % functions.size()];
      result.latencies_ns.push_back(system_clock().now_ns() - start_ns - arrivals_ns[request]);
    }
  });
  Status sent = ok_status();
  for (std::size_t i = 0; i < arrivals_ns.size() && sent.is_ok(); ++i) {
    sleep_until(start_ns + arrivals_ns[i]);
    result.lateness_ns.push_back(system_clock().now_ns() - start_ns - arrivals_ns[i]);
    sent = stream->send(i, functions[i % functions.size()], inputs);
  }
  stream->close();
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

double fairness(const std::vector<std::int64_t>& amounts) {
  double sum = 0;
  double squares = 0;
  for (const std::int64_t amount : amounts) {
    sum += static_cast<double>(amount);
    squares += static_cast<double>(amount) * static_cast<double>(amount);
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(amounts.size()) * squares);
}

}  // namespace sluice::bench
