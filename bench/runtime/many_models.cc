// What a request costs with one model loaded and with a thousand. Target: within 5 %.
#include <algorithm>
#include <vector>

#include "networks.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::bench {
namespace {

constexpr int kWidth = 64;
constexpr int kRequests = 2'000;

double ns_per_request(runtime::Engine& engine, terms::ModelHandle model) {
  Caller caller(kWidth);
  const std::int64_t start = engine.clock().now_ns();
  for (int i = 0; i < kRequests; ++i) caller.infer(engine, model);
  return static_cast<double>(engine.clock().now_ns() - start) / kRequests;
}

double best_of(int rounds, runtime::Engine& engine, terms::ModelHandle model) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) times.push_back(ns_per_request(engine, model));
  std::ranges::sort(times);
  fmt::print("  median {:.0f} ns, best {:.0f} ns\n", times[times.size() / 2], times.front());
  return times.front();
}

void run() {
  const auto registry = backend::BackendRegistry::discover();
  runtime::ThreadDrivers drivers;
  runtime::Engine engine(registry, drivers, this_machine());
  terms::CoreRequest cores;
  cores.num_cores = 1;
  runtime::LoadRequest request;
  request.group = value_of(engine.create_group(cores));
  request.executable = products(3, kWidth);
  const auto model = value_of(engine.load(request));
  check(engine.start(model));
  best_of(3, engine, model);
  fmt::print("one model loaded\n");
  const double one = best_of(41, engine, model);
  for (int i = 1; i < 1'000; ++i) {
    if (i % 2 == 0) request.executable = products(3, kWidth);  // half of them share a package
    value_of(engine.load(request));
  }
  fmt::print("{} models loaded\n", engine.list_models().size());
  const double many = best_of(41, engine, model);
  fmt::print("{:+.1f} %\n", 100 * (many - one) / one);
}

}  // namespace
}  // namespace sluice::bench

int main() { sluice::bench::run(); }
