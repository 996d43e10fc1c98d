// What the runtime adds to a run of a small model, what of that is statistics, and what a function
// without neighbours costs.
#include <algorithm>
#include <vector>

#include "exec/loaded_model.h"
#include "networks.h"
#include "runtime/inference/thread_driver.h"
#include "runtime/statistics/model_statistics.h"
#include "sandbox/function_host.h"

namespace sluice::bench {
namespace {

constexpr int kWidth = 64;
constexpr int kCalls = 5'000;

template <typename Call>
double best_ns(Clock& clock, const Call& call) {
  double best = 1e18;
  for (int round = 0; round < 41; ++round) {
    const std::int64_t start = clock.now_ns();
    for (int i = 0; i < kCalls; ++i) call();
    best = std::min(best, static_cast<double>(clock.now_ns() - start) / kCalls);
  }
  return best;
}

/// A request of a warm function that shares its lane with no other.
double through_function(runtime::Engine& engine, const runtime::LoadRequest& request) {
  sandbox::FunctionHost functions(engine, {});
  const auto sink = value_of(functions.sink(value_of(functions.deploy(request, {}))));
  Caller caller(kWidth);
  return best_ns(engine.clock(), [&] { caller.infer(*sink); });
}

void run() {
  const auto registry = backend::BackendRegistry::discover();
  runtime::ThreadDrivers drivers;
  runtime::Engine engine(registry, drivers, this_machine());
  runtime::LoadRequest request;
  request.executable = products(3, kWidth);
  const auto handle = value_of(engine.load(request));
  Caller caller(kWidth);
  const double through = best_ns(engine.clock(), [&] { caller.infer(engine, handle); });
  check(engine.unload(handle, 0));
  const double alone = through_function(engine, request);

  exec::LoadOptions options;
  options.cores = {0};
  const auto model = value_of(exec::LoadedModel::load(*request.executable, registry, options));
  auto context = value_of(model.create_context());
  const runtime::Request bound = caller.request();
  const double direct = best_ns(engine.clock(), [&] {
    check(context.set_input(0, bound.inputs[0]));
    check(context.bind_output(0, bound.outputs[0].data, bound.outputs[0].capacity_bytes));
    check(context.run());
  });

  runtime::ModelStatistics statistics({{{terms::DeviceId(0), 1}}});
  std::int64_t value = 1;
  const double counting = best_ns(engine.clock(), [&] {
    value = value * 6364136223846793005 + 1;
    const std::int64_t some = (value >> 40) & 0xFFFFF;
    statistics.count_accepted();
    statistics.count_answer(RuntimeCode::kOk);
    statistics.record({some, 0, some + 1, some + 2});
    statistics.add_busy(some);
    statistics.add_lane_busy(0, some);
  });
  fmt::print("direct run {:8.0f} ns\nthrough the engine {:8.0f} ns: {:.2f} us more\n", direct,
             through, (through - direct) / 1e3);
  fmt::print("a function alone {:8.0f} ns: {:.2f} us more\n", alone, (alone - direct) / 1e3);
  fmt::print("statistics {:8.0f} ns: {:.1f} % of such a small request, {:.2f} % of one of 100 us\n",
             counting, 100 * counting / through, 100 * counting / 1e5);
}

}  // namespace
}  // namespace sluice::bench

int main() { sluice::bench::run(); }
