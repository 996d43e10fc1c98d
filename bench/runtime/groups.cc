// Two core groups of one core each run two models at once: requests per second of each, against one
// running alone. Target: 95 %. Turns alternate, so that a change of the machine meets both.
#include <algorithm>
#include <thread>
#include <vector>

#include "networks.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::bench {
namespace {

using runtime::Engine;
using runtime::ModelHandle;

constexpr int kWidth = 512;
constexpr std::int64_t kTurnNs = 300'000'000;
constexpr int kTurns = 9;

double rate(Engine& engine, ModelHandle model) {
  Caller caller(kWidth);
  std::int64_t count = 0;
  const std::int64_t start = engine.clock().now_ns();
  std::int64_t now = start;
  for (; now - start < kTurnNs; now = engine.clock().now_ns(), ++count) caller.infer(engine, model);
  return static_cast<double>(count) * 1e9 / static_cast<double>(now - start);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void run() {
  const auto registry = backend::BackendRegistry::discover();
  runtime::ThreadDrivers drivers;
  Engine engine(registry, drivers, this_machine());
  runtime::LoadRequest request;
  request.executable = products(8, kWidth);
  const ModelHandle first = value_of(engine.load(request));
  const ModelHandle second = value_of(engine.load(request));
  std::vector<double> solo;
  std::vector<double> together[2];
  for (int turn = 0; turn < kTurns; ++turn) {
    solo.push_back(rate(engine, first));
    double other = 0;
    std::thread thread([&] { other = rate(engine, second); });
    together[0].push_back(rate(engine, first));
    thread.join();
    together[1].push_back(other);
  }
  fmt::print("alone {:9.0f} requests/s\n", median(solo));
  for (const auto& rates : together) {
    fmt::print("beside the other {:9.0f} requests/s, {:5.1f} % of alone\n", median(rates),
               100 * median(rates) / median(solo));
  }
}

}  // namespace
}  // namespace sluice::bench

int main() { sluice::bench::run(); }
