// Growth of the process over 10,000 cycles of load, infer and unload, after 1,000 to warm up.
// Target: under 1 %.
#include "networks.h"
#include "runtime/inference/thread_driver.h"

int main() {
  using namespace sluice;
  using namespace sluice::bench;
  const auto registry = backend::BackendRegistry::discover();
  runtime::ThreadDrivers drivers;
  runtime::Engine engine(registry, drivers, this_machine());
  runtime::LoadRequest request;
  request.executable = products(3, 128);
  Caller caller(128);
  std::int64_t warm = 0;
  const std::int64_t start = engine.clock().now_ns();
  for (int i = 0; i < 11'000; ++i) {
    if (i == 1'000) warm = resident_bytes();
    const auto model = value_of(engine.load(request));
    caller.infer(engine, model);
    check(engine.unload(model));
  }
  const std::int64_t end = resident_bytes();
  fmt::print("resident after 1000 cycles {:.2f} MB, after 11000 {:.2f} MB: {:+.2f} %\n",
             static_cast<double>(warm) / 1e6, static_cast<double>(end) / 1e6,
             100.0 * static_cast<double>(end - warm) / static_cast<double>(warm));
  fmt::print("{:.0f} us per cycle\n",
             static_cast<double>(engine.clock().now_ns() - start) / 11'000 / 1e3);
}
