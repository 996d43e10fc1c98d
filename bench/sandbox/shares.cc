#include "shares.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace sluice::bench {
namespace {

constexpr int kCallers = 4;

terms::FunctionState state_of(rpc::client::Client& client, std::uint64_t function) {
  const auto entries = client.list_models(function);
  const bool is_function = entries.is_ok() && entries->size() == 1 && entries->front().function;
  return is_function ? *entries->front().function : terms::FunctionState();
}

}  // namespace

Division divide(const std::function<std::unique_ptr<rpc::client::Client>()>& connect,
                const std::vector<std::uint64_t>& functions,
                const std::vector<terms::NamedTensor>& inputs, std::int64_t duration_ns) {
  std::atomic<bool> is_over = false;
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < functions.size() * kCallers; ++i) {
    callers.emplace_back([&, function = functions[i / kCallers]] {
      const auto client = connect();
      while (!is_over && client->infer(function, inputs).is_ok()) continue;
    });
  }
  // The first tenth is not counted: the callers connect one after another.
  const auto client = connect();
  std::this_thread::sleep_for(std::chrono::nanoseconds(duration_ns / 10));
  std::vector<double> busy;
  for (const std::uint64_t function : functions) {
    busy.push_back(-static_cast<double>(state_of(*client, function).busy_ns));
  }
  std::this_thread::sleep_for(std::chrono::nanoseconds(duration_ns));
  double sum_busy = 0;
  double sum_shares = 0;
  Division division;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const terms::FunctionState state = state_of(*client, functions[i]);
    busy[i] += static_cast<double>(state.busy_ns);
    division.parts.push_back({static_cast<double>(state.options.share), busy[i]});
    sum_busy += busy[i];
    sum_shares += state.options.share;
  }
  is_over = true;
  for (std::thread& caller : callers) caller.join();
  for (Division::Part& part : division.parts) {
    part.wanted /= sum_shares;
    part.measured /= sum_busy;
  }
  division.busy = sum_busy / static_cast<double>(duration_ns);
  return division;
}

}  // namespace sluice::bench
