// Two core groups of one core each run two models at once: requests per second of each, against the
// same model running alone. Target: 95 %.
//
// Alone, a model has more than its group: the machine's other work goes to the idle core, and
// caches and memory below the core's own are its alone. So there are two networks, one that
// computes within its core's cache and one that reads 8 MB of weights per request; and each is
// measured a third way, alone beside a core that spins and touches nothing: a runtime cannot win
// back that loss.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "networks.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::bench {
namespace {

using runtime::Engine;
using terms::ModelHandle;

constexpr std::int64_t kTurnNs = 200'000'000;
constexpr int kTurns = 15;

struct Network {
  const char* what;
  int layers;
  int width;
  int rows;
};
constexpr std::array<Network, 2> kNetworks = {{
    {"within a core's cache (0.5 MB of weights, 64 rows)", 8, 128, 64},
    {"through the shared caches (8 MB of weights, 1 row)", 8, 512, 1},
}};

double rate(Engine& engine, ModelHandle model, const Network& network) {
  Caller caller(network.width, network.rows);
  caller.infer(engine, model);
  std::int64_t count = 0;
  const std::int64_t start = engine.clock().now_ns();
  std::int64_t now = start;
  for (; now - start < kTurnNs; now = engine.clock().now_ns(), ++count) caller.infer(engine, model);
  return static_cast<double>(count) * 1e9 / static_cast<double>(now - start);
}

/// Rate of `model`, while another core does nothing useful.
double rate_beside_spinning(Engine& engine, ModelHandle model, const Network& network) {
  std::atomic<bool> is_over = false;
  std::thread spinner([&] {
    while (!is_over.load(std::memory_order_relaxed)) {
    }
  });
  const double result = rate(engine, model, network);
  is_over.store(true);
  spinner.join();
  return result;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(Engine& engine, const Network& network) {
  runtime::LoadRequest request;
  request.executable = products(network.layers, network.width, network.rows);
  const std::array<ModelHandle, 2> models = {value_of(engine.load(request)),
                                             value_of(engine.load(request))};
  std::array<std::vector<double>, 2> alone;
  std::array<std::vector<double>, 2> spinning;
  std::array<std::vector<double>, 2> together;
  for (int turn = 0; turn < kTurns; ++turn) {  // by turns: a change of the machine meets all
    for (std::size_t i = 0; i < 2; ++i) {
      alone[i].push_back(rate(engine, models[i], network));
      spinning[i].push_back(rate_beside_spinning(engine, models[i], network));
    }
    double other = 0;
    std::thread thread([&] { other = rate(engine, models[1], network); });
    together[0].push_back(rate(engine, models[0], network));
    thread.join();
    together[1].push_back(other);
  }
  fmt::print("{}\n", network.what);
  for (std::size_t i = 0; i < 2; ++i) {
    const double base = median(alone[i]);
    fmt::print(
        "  group {}: alone {:7.0f} requests/s; beside a spinning core {:5.1f} %; beside the other "
        "group {:5.1f} %\n",
        i + 1, base, 100 * median(spinning[i]) / base, 100 * median(together[i]) / base);
  }
  for (const ModelHandle model : models) check(engine.unload(model));
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
