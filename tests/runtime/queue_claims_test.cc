// Queues of a model and the rings under them, with threads that run freely and a model that
// computes on the host's processors.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "base/ring.h"
#include "exec/testing/exec_testing.h"
#include "runtime/engine.h"
#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_testing.h"
#include "session/queue_manager.h"

namespace sluice::session {
namespace {

using exec::testing::Aligned;
using exec::testing::executable_of;

/// A model of an engine whose own thread computes: callers only enqueue.
class QueueClaims : public ::testing::Test {
 protected:
  std::unique_ptr<QueueManager> load(package::Executable executable, int depth,
                                     std::size_t capacity) {
    if (loaded_) {
      EXPECT_TRUE(engine_.unload(*loaded_).is_ok());
    }
    runtime::LoadRequest request = runtime::testing::load_of(
        std::make_shared<const package::Executable>(std::move(executable)));
    request.depth = depth;
    const auto handle = engine_.load(request);
    EXPECT_TRUE(handle.is_ok()) << handle.status().to_string();
    loaded_ = *handle;
    sink_ = engine_.sink(*handle).value();
    return QueueManager::create(*sink_, {capacity}).value();
  }

  runtime::ThreadDrivers drivers_;
  runtime::Engine engine_{runtime::testing::registry(), drivers_,
                          runtime::EngineOptions{runtime::testing::cpu_map(1)}};
  std::optional<terms::ModelHandle> loaded_;
  std::shared_ptr<runtime::RequestSink> sink_;
};

/// Counts completions, and those that failed.
struct Completions {
  std::atomic<int> count = 0;
  std::atomic<int> num_failed = 0;

  QueueCallback callback() {
    return {[](void* context, const QueueCompletion& completion) {
              auto* self = static_cast<Completions*>(context);
              if (completion.code != RuntimeCode::kOk) ++self->num_failed;
              ++self->count;
              self->count.notify_all();
            },
            this};
  }
  void wait_for(int wanted) {
    for (int seen = count; seen < wanted; seen = count) count.wait(seen);
  }
};

/// y = x * w, matrices of n x n; w has ones.
package::Executable product_of(int n) {
  return executable_of(fmt::format(R"(
subgraph @0 "main" {{
  input %x : f32[{0},{0}]
  const %w : f32[{0},{0}] = splat 1.0
  [%y : f32[{0},{0}]] = MatMul.13[%x, %w]
  output [%y]
}}
)",
                                   n),
                       "cpu");
}

/// How many inputs were prepared and enqueued while the first one was being computed; every answer
/// is compared.
int num_prepared_during_first_run(QueueManager& queues, int n, int num_requests) {
  Completions done;
  const auto elements = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  std::vector<Aligned<float>> x;
  std::vector<Aligned<float>> y;
  int num_overlapped = 0;
  for (int i = 0; i < num_requests; ++i) {
    x.emplace_back(std::vector<float>(elements, static_cast<float>(i + 1)));  // prepares an input
    y.emplace_back(std::vector<float>(elements));
    const std::int64_t bytes = x.back().size_bytes();
    EXPECT_TRUE(queues.find("x")->enqueue(x.back().data(), bytes, {}).is_ok());
    EXPECT_TRUE(queues.find("y")->enqueue(y.back().data(), bytes, done.callback()).is_ok());
    if (i > 0 && done.count == 0) ++num_overlapped;
  }
  done.wait_for(num_requests);
  queues.close();  // the last callback has returned
  EXPECT_EQ(done.num_failed, 0);
  for (int i = 0; i < num_requests; ++i) {
    EXPECT_EQ(y[static_cast<std::size_t>(i)].data()[elements - 1], static_cast<float>(n * (i + 1)));
  }
  return num_overlapped;
}

// A busy machine may hold this thread up until a short run is done; longer ones leave it time.
TEST_F(QueueClaims, InputsArePreparedAndEnqueuedWhileTheProcessorComputes) {
  constexpr int kRequests = 4;
  int most = 0;
  for (const int n : {256, 512, 1024, 2048}) {
    const auto queues = load(product_of(n), 1, kRequests);
    most = std::max(most, num_prepared_during_first_run(*queues, n, kRequests));
    if (most == kRequests - 1) break;
  }
  EXPECT_EQ(most, kRequests - 1) << "all but the first";
}

TEST_F(QueueClaims, ThreadsFillAndDrainQueuesAndTheModelTakesRequestsByItself) {
  constexpr int kRequests = 500;
  const auto queues = load(*runtime::testing::add_relu("cpu"), 2, 3);
  std::vector<Aligned<float>> x;
  std::vector<Aligned<float>> y;
  for (int i = 0; i < kRequests; ++i) {
    x.emplace_back(std::vector<float>(4, static_cast<float>(i)));
    y.emplace_back(std::vector<float>(4, -1.0F));
  }
  Completions read;
  Completions written;
  const auto fill = [&](const char* name, std::vector<Aligned<float>>& data, Completions& done) {
    for (Aligned<float>& tensor : data) {
      const Status status =
          queues->find(name)->enqueue(tensor.data(), 16, done.callback(), kNoDeadline);
      EXPECT_TRUE(status.is_ok()) << status.to_string();
    }
  };
  std::thread inputs([&] { fill("x", x, read); });
  std::thread outputs([&] { fill("y", y, written); });
  written.wait_for(kRequests);  // by the engine's thread alone: nobody waits in the model
  inputs.join();
  outputs.join();
  queues->close();  // the last callback has returned
  EXPECT_EQ(read.count, kRequests);
  EXPECT_EQ(read.num_failed + written.num_failed, 0);
  for (int i = 0; i < kRequests; ++i) {
    const float* row = y[static_cast<std::size_t>(i)].data();
    const auto value = static_cast<float>(i);
    EXPECT_EQ(row[0], value + 1) << "request " << i;
    EXPECT_EQ(row[1], std::max(value - 2, 0.0F)) << "request " << i;
  }
}

// A ring that wrote past its last cell instead of the first would leave its memory by megabytes.
TEST(RingClaims, FullRingsGoOnInTheirFirstCellAndKeepTheOrder) {
  for (const std::size_t capacity : {1U, 3U, 4U, 7U}) {
    Ring<std::int64_t> ring(capacity);
    std::int64_t pushed = 0;
    std::int64_t popped = 0;
    while (pushed < 1'000'000) {
      while (ring.try_push(pushed) == RingResult::kDone) ++pushed;
      ASSERT_EQ(ring.size(), capacity) << "filled to the capacity from every cell on";
      // One stays, so that the next round begins a cell further on.
      for (std::int64_t got = 0; ring.size() > (capacity > 1 ? 1U : 0U); ++popped) {
        ASSERT_EQ(ring.try_pop(got), RingResult::kDone);
        ASSERT_EQ(got, popped);
      }
    }
  }
}

TEST(RingClaims, CellsAreReusedWhileOneThreadFillsAndAnotherDrains) {
  constexpr std::int64_t kRecords = 500'000;
  Ring<std::int64_t> ring(48);  // not a power of two: the capacity is less than the cells
  std::thread producer([&] {
    for (std::int64_t i = 0; i < kRecords; ++i) {
      ASSERT_EQ(ring.push(i, system_clock(), kNoDeadline), RingResult::kDone);
    }
    ring.close();
  });
  std::int64_t wanted = 0;
  std::int64_t got = 0;
  while (ring.pop(got, system_clock(), kNoDeadline) == RingResult::kDone) {
    EXPECT_EQ(got, wanted++);
    EXPECT_LE(ring.size(), 48U);
  }
  producer.join();
  EXPECT_EQ(wanted, kRecords);
}

}  // namespace
}  // namespace sluice::session
