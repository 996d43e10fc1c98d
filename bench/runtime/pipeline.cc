// A model cut in two, a core for each half: requests per second by the number of requests in
// flight. Target: 1.7 times the rate of one in flight, from two on.
#include <algorithm>
#include <atomic>
#include <vector>

#include "networks.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::bench {
namespace {

using runtime::Engine;
using terms::ModelHandle;

constexpr std::int64_t kTurnNs = 300'000'000;
constexpr int kTurns = 11;
constexpr int kMaxInFlight = 4;

struct Network {
  const char* what;
  int layers;
  int width;
  int rows;
};
constexpr Network kNetworks[] = {
    {"milliseconds a segment", 16, 256, 256},
    {"0.2 ms a segment", 16, 128, 64},
    {"some microseconds a segment: both run in the step", 4, 64, 1},
};

double rate(Engine& engine, ModelHandle model, std::vector<Caller>& callers, int in_flight) {
  const auto sink = value_of(engine.sink(model));
  std::atomic<std::int64_t> num_done = 0;
  std::int64_t num_sent = 0;
  std::int64_t count = 0;
  const auto wait_for = [&](std::int64_t number) {
    sink->wait([&] { return num_done.load(std::memory_order_acquire) >= number; }, kNoDeadline);
  };
  const std::int64_t start = engine.clock().now_ns();
  std::int64_t now = start;
  for (; now - start < kTurnNs; now = engine.clock().now_ns()) {
    for (; num_sent < count + in_flight; ++num_sent) {
      const auto next = static_cast<std::size_t>(num_sent) % callers.size();
      runtime::Request request = callers[next].request();
      request.on_done = [&num_done](const runtime::Reply& reply) {
        check(reply.errors.to_status());
        num_done.fetch_add(1, std::memory_order_release);
      };
      value_of(sink->submit(request));
    }
    wait_for(++count);
  }
  wait_for(num_sent);
  return static_cast<double>(count) * 1e9 / static_cast<double>(now - start);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(Engine& engine, const Network& network) {
  auto executable =
      std::make_shared<package::Executable>(*products(network.layers, network.width, network.rows));
  const auto half = static_cast<std::uint32_t>(network.layers / 2);
  executable->segments = {{"first", 0, 1}, {"second", half, 1}};
  runtime::LoadRequest request;
  request.executable = std::move(executable);
  request.depth = kMaxInFlight;
  const ModelHandle model = value_of(engine.load(request));
  std::vector<Caller> callers;
  for (int i = 0; i < kMaxInFlight; ++i) callers.emplace_back(network.width, network.rows);
  std::vector<std::vector<double>> rates(kMaxInFlight + 1);
  for (int turn = 0; turn < kTurns; ++turn) {  // by turns: a change of the machine meets all
    for (int i = 1; i <= kMaxInFlight; ++i) {
      rates[static_cast<std::size_t>(i)].push_back(rate(engine, model, callers, i));
    }
  }
  fmt::print("{}\n", network.what);
  const double one = median(rates[1]);
  for (int i = 1; i <= kMaxInFlight; ++i) {
    const double some = median(rates[static_cast<std::size_t>(i)]);
    fmt::print("  {} in flight: {:8.0f} requests/s, {:.2f} times one\n", i, some, some / one);
  }
  check(engine.unload(model));
}

void run() {
  const auto registry = backend::BackendRegistry::discover();
  runtime::ThreadDrivers drivers;
  Engine engine(registry, drivers, this_machine());
  if (engine.num_free_cores() < 2) {
    fmt::print("this process may use one processor; the figure needs two\n");
    return;
  }
  for (const Network& network : kNetworks) measure(engine, network);
}

}  // namespace
}  // namespace sluice::bench

int main() { sluice::bench::run(); }
