// What tensor queues add to a run of a small model: per tensor, with a thread that enqueues and the
// queue manager's driver, and with one thread for both. Target: at most 1 microsecond.
#include <algorithm>
#include <atomic>
#include <vector>

#include "runtime/networks.h"
#include "session/inline_model.h"
#include "session/queue_manager.h"

namespace sluice::bench {
namespace {

constexpr int kWidth = 64;
constexpr int kRequests = 20'000;
constexpr int kRounds = 21;
constexpr int kDepth = 4;
constexpr std::int64_t kBytes = kWidth * 4;

template <typename Run>
double best_ns(const Run& run) {
  double best = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t start = system_clock().now_ns();
    run();
    best = std::min(best, static_cast<double>(system_clock().now_ns() - start) / kRequests);
  }
  return best;
}

void count(void* context, const session::QueueCompletion& /*completion*/) {
  static_cast<std::atomic<int>*>(context)->fetch_add(1, std::memory_order_release);
}

/// Nanoseconds of a request that passes the queues.
double through_queues(session::InlineModel& model, bool has_driver, std::byte* x, std::byte* y) {
  session::QueueOptions options;
  options.capacity = 64;
  options.has_driver = has_driver;
  const auto queues = value_of(session::QueueManager::create(model, options));
  return best_ns([&] {
    std::atomic<int> num_done = 0;
    int num_enqueued = 0;
    const auto is_done = [&] { return num_done.load(std::memory_order_acquire) == num_enqueued; };
    for (int i = 0; i < kRequests; ++i) {
      check(queues->inputs()[0].enqueue(x, kBytes, {}, kNoDeadline));
      check(queues->outputs()[0].enqueue(y, kBytes, {count, &num_done}, kNoDeadline));
      ++num_enqueued;
      if (!has_driver) queues->wait(is_done, kNoDeadline);
    }
    queues->wait(is_done, kNoDeadline);
  });
}

void run() {
  const auto registry = backend::BackendRegistry::discover();
  exec::LoadOptions options;
  options.cores = {0};
  const auto loaded = value_of(exec::LoadedModel::load(*products(3, kWidth), registry, options));
  const auto model = value_of(session::InlineModel::create(loaded, kDepth, system_clock()));
  MutableBytes memory(2 * kBytes);
  std::byte* x = memory.view().data();
  auto context = value_of(loaded.create_context());
  const double direct = best_ns([&] {
    for (int i = 0; i < kRequests; ++i) {
      check(context.set_input(0, {x, kBytes, ir::ElementType::kF32, {1, kWidth}}));
      check(context.bind_output(0, x + kBytes, kBytes));
      check(context.run());
    }
  });
  fmt::print("direct run                {:8.0f} ns\n", direct);
  for (const bool has_driver : {true, false}) {
    const double queued = through_queues(*model, has_driver, x, x + kBytes);
    fmt::print("through queues, {} {:8.0f} ns: {:.2f} us per tensor (at most 1)\n",
               has_driver ? "a driver " : "no driver", queued, (queued - direct) / 2e3);
  }
}

}  // namespace
}  // namespace sluice::bench

int main() { sluice::bench::run(); }
