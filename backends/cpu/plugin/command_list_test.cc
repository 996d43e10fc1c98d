#include "plugin/command_list.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/eventually.h"
#include "testing/op_testing.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

/// Adds input to output, slowly enough for a missing barrier to show.
class SlowAdd : public Kernel {
 public:
  explicit SlowAdd(const sluice_op& op, double cost_ns = 1e6) : Kernel(op), cost_ns_(cost_ns) {}
  void run(const Run& run, int, const Worker& worker) const override {
    // Each worker reads the other end of what the step before wrote.
    const std::int64_t count = plugin::num_elements(op().outputs[0].tensor);
    const Share share = share_of(count, 1, worker);
    if (worker.index > 0) sluice::testing::pause_for(std::chrono::microseconds(200));
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      run.output<float>(0)[i] = run.input<float>(0)[count - 1 - i] + 1;
    }
  }
  void extents(Extents& /*extents*/) const override {}
  double cost_ns() const override { return cost_ns_; }
  std::int64_t scratch_bytes() const override {
    return plugin::num_elements(op().outputs[0].tensor);
  }

 private:
  double cost_ns_;
};

sluice_argument at(std::int32_t binding, std::int64_t offset) {
  return {binding, 0, nullptr, offset, nullptr};
}

class CommandListTest : public ::testing::Test {
 protected:
  CommandListTest() {
    op_.input({100}, std::vector<float>(100)).output({100});
    op_.op();
  }

  TestOp op_{"SlowAdd"};
  SlowAdd kernel_{op_.op()};
};

/// Asked by the thread that submits; says stop at call `most`.
struct Asked {
  int most = 0;
  int calls = 0;
  static std::int32_t ask(void* user) {
    auto& asked = *static_cast<Asked*>(user);
    return ++asked.calls >= asked.most ? 1 : 0;
  }
};

TEST_F(CommandListTest, LongStepStopsBetweenItsPieces) {
  const SlowAdd seconds(op_.op(), 5e9);
  for (const int workers : {1, 2, 3}) {
    CommandList list(test_pool(workers));
    const sluice_argument in = at(0, 0);
    const sluice_argument out = at(0, 512);
    ASSERT_TRUE(list.add_kernel(seconds, {&in, 1}, {&out, 1}).is_ok());
    ASSERT_TRUE(list.finish().is_ok());
    std::vector<float> buffer(256, 0.0F);
    void* binding = buffer.data();
    ASSERT_TRUE(list.run({&binding, 1}).is_ok()) << "nobody asks";
    std::ranges::fill(buffer, 0.0F);
    Asked asked{1};
    kStop.watch(nullptr, Asked::ask, &asked);
    const Status stopped = list.run({&binding, 1});
    EXPECT_EQ(stopped.code, SLUICE_CANCELLED) << workers;
    EXPECT_EQ(asked.calls, 1) << "once answered, it asks no more";
    // Other workers may have done all of it meanwhile.
    EXPECT_LE(std::ranges::count(buffer, 1.0F), workers == 1 ? 99 : 100);
    kStop.watch(nullptr, nullptr, nullptr);
    ASSERT_TRUE(list.run({&binding, 1}).is_ok());
    EXPECT_EQ(std::ranges::count(buffer, 1.0F), 100) << "the next run is whole";
  }
}

TEST_F(CommandListTest, ManyShortStepsAsk) {
  CommandList list(test_pool(2));
  for (int i = 0; i < 20; ++i) {
    const sluice_argument in = at(0, i % 2 * 512);
    const sluice_argument out = at(0, (i + 1) % 2 * 512);
    ASSERT_TRUE(list.add_kernel(kernel_, {&in, 1}, {&out, 1}).is_ok());
  }
  ASSERT_TRUE(list.finish().is_ok());
  std::vector<float> buffer(256, 0.0F);
  void* binding = buffer.data();
  Asked asked{1};
  kStop.watch(nullptr, Asked::ask, &asked);
  EXPECT_EQ(list.run({&binding, 1}).code, SLUICE_CANCELLED);
  kStop.watch(nullptr, nullptr, nullptr);
  EXPECT_EQ(asked.calls, 1);
}

TEST_F(CommandListTest, StepsSeeEarlierResults) {
  for (const int workers : {1, 2, 3}) {
    CommandList list(test_pool(workers));
    for (int i = 0; i < 10; ++i) {
      const sluice_argument in = at(0, i % 2 * 512);
      const sluice_argument out = at(0, (i + 1) % 2 * 512);
      ASSERT_TRUE(list.add_kernel(kernel_, {&in, 1}, {&out, 1}).is_ok());
    }
    ASSERT_TRUE(list.finish().is_ok());
    for (int round = 0; round < 3; ++round) {
      std::vector<float> arena(256);
      void* binding = arena.data();
      ASSERT_TRUE(list.run({&binding, 1}).is_ok());
      for (int i = 0; i < 100; ++i) EXPECT_EQ(arena[static_cast<std::size_t>(i)], 10) << workers;
    }
  }
}

TEST_F(CommandListTest, DynamicPiecesGiveTheSameResult) {
  ContentionDetector high;
  while (!high.is_high()) high.note(1, 1);
  std::vector<int> cpus;
  for (const int i : {0, 1, 2}) {
    cpus.push_back(allowed_cpus()[static_cast<std::size_t>(i) % allowed_cpus().size()]);
  }
  for (int round = 0; round < 5; ++round) {
    ThreadPool pool(cpus, high);
    ASSERT_TRUE(pool.is_contended());
    CommandList list(pool);
    for (int i = 0; i < 10; ++i) {
      const sluice_argument in = at(0, i % 2 * 512);
      const sluice_argument out = at(0, (i + 1) % 2 * 512);
      ASSERT_TRUE(list.add_kernel(kernel_, {&in, 1}, {&out, 1}).is_ok());
    }
    ASSERT_TRUE(list.finish().is_ok());
    for (int run = 0; run < 9; ++run) {  // every mode starts with all pieces untaken
      std::vector<float> arena(256);
      void* binding = arena.data();
      ASSERT_TRUE(list.run({&binding, 1}).is_ok());
      for (int i = 0; i < 100; ++i) EXPECT_EQ(arena[static_cast<std::size_t>(i)], 10);
    }
  }
}

TEST_F(CommandListTest, BindingsThatShareMemoryAreNoticed) {
  CommandList list(test_pool(2));
  for (int i = 0; i < 10; ++i) {
    const sluice_argument in = at(i, 0);
    const sluice_argument out = at(i + 1, 0);
    ASSERT_TRUE(list.add_kernel(kernel_, {&in, 1}, {&out, 1}).is_ok());
  }
  ASSERT_TRUE(list.finish().is_ok());
  std::vector<float> even(100);
  std::vector<float> odd(100);
  std::vector<void*> bindings;
  for (int i = 0; i < 11; ++i) bindings.push_back(i % 2 == 0 ? even.data() : odd.data());
  ASSERT_TRUE(list.run(bindings).is_ok());
  EXPECT_EQ(even, std::vector<float>(100, 10));
}

TEST_F(CommandListTest, ListsOfOnePoolRunFromSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      CommandList list(test_pool(2));
      for (int i = 0; i < 4; ++i) {
        const sluice_argument in = at(0, i % 2 * 512);
        const sluice_argument out = at(0, (i + 1) % 2 * 512);
        (void)list.add_kernel(kernel_, {&in, 1}, {&out, 1});
      }
      (void)list.finish();
      for (int round = 0; round < 20; ++round) {
        std::vector<float> arena(256);
        void* binding = arena.data();
        right += list.run({&binding, 1}).is_ok() && arena[0] == 4 && arena[99] == 4;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 60);
}

TEST_F(CommandListTest, RefusesTooFewBindingsAndLateAdditions) {
  CommandList list(test_pool(1));
  const sluice_argument in = at(0, 0);
  const sluice_argument out = at(1, 0);
  EXPECT_EQ(list.run({}).code, SLUICE_FAILED_PRECONDITION);
  ASSERT_TRUE(list.add_kernel(kernel_, {&in, 1}, {&out, 1}).is_ok());
  EXPECT_EQ(list.add_kernel(kernel_, {&in, 1}, {}).code, SLUICE_INVALID_ARGUMENT);
  ASSERT_TRUE(list.finish().is_ok());
  EXPECT_EQ(list.add_kernel(kernel_, {&in, 1}, {&out, 1}).code, SLUICE_FAILED_PRECONDITION);
  EXPECT_EQ(list.run({}).code, SLUICE_FAILED_PRECONDITION);
}

/// Runs ten additions, first by kernels so short that one worker runs them: the exchange plans
/// barriers.
TEST_F(CommandListTest, ExchangedKernelsHaveTheirShapesAndBarriers) {
  TestOp small{"SlowAdd"};
  small.input({60}, std::vector<float>(60)).output({60});
  const SlowAdd short_kernel(op_.op(), 1);
  const SlowAdd other(small.op());
  const std::vector<std::int32_t> entries = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto times = [](const Kernel& kernel) { return std::vector<const Kernel*>(10, &kernel); };
  for (const int workers : {1, 2, 3}) {
    CommandList list(test_pool(workers));
    for (int i = 0; i < 10; ++i) {
      const sluice_argument in = at(0, i % 2 * 512);
      const sluice_argument out = at(0, (i + 1) % 2 * 512);
      ASSERT_TRUE(list.add_kernel(short_kernel, {&in, 1}, {&out, 1}).is_ok());
    }
    EXPECT_EQ(list.exchange(entries, times(other)).code, SLUICE_FAILED_PRECONDITION);
    ASSERT_TRUE(list.finish().is_ok());
    const auto check = [&](std::size_t count) {
      std::vector<float> arena(256);
      void* binding = arena.data();
      ASSERT_TRUE(list.run({&binding, 1}).is_ok());
      for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(arena[i], i < count ? 10 : 0) << workers;
    };
    check(100);
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE(list.exchange(entries, times(other)).is_ok());
      check(60);
      ASSERT_TRUE(list.exchange(entries, times(kernel_)).is_ok());
      check(100);
      ASSERT_TRUE(list.exchange(entries, times(short_kernel)).is_ok());
      check(100);
    }
  }
}

TEST_F(CommandListTest, RefusesAnExchangeThatDoesNotFit) {
  CommandList list(test_pool(2));
  const sluice_argument a = at(0, 0);
  const sluice_argument b = at(0, 512);
  ASSERT_TRUE(list.add_kernel(kernel_, {&a, 1}, {&b, 1}).is_ok());
  ASSERT_TRUE(list.add_copy(b, a, 400).is_ok());
  ASSERT_TRUE(list.finish().is_ok());
  TestOp two_inputs{"SlowAdd"};
  two_inputs.input({100}, std::vector<float>(100)).input({100}, std::vector<float>(100));
  two_inputs.output({100});
  const SlowAdd other(two_inputs.op());
  const Kernel* const right = &kernel_;
  const Kernel* const wrong = &other;
  for (const std::int32_t entry : {-1, 1, 2}) {  // before the first, a copy, behind the last
    EXPECT_EQ(list.exchange({&entry, 1}, {&right, 1}).code, SLUICE_INVALID_ARGUMENT) << entry;
  }
  const std::int32_t first = 0;
  EXPECT_EQ(list.exchange({&first, 1}, {&wrong, 1}).code, SLUICE_INVALID_ARGUMENT);
  EXPECT_TRUE(list.exchange({&first, 1}, {&right, 1}).is_ok());
}

TEST_F(CommandListTest, CopiesAreOrderedWithKernels) {
  CommandList list(test_pool(2));
  const sluice_argument a = at(0, 0);
  const sluice_argument b = at(0, 512);
  const sluice_argument c = at(0, 1024);
  ASSERT_TRUE(list.add_kernel(kernel_, {&a, 1}, {&b, 1}).is_ok());
  ASSERT_TRUE(list.add_copy(b, c, 400).is_ok());
  ASSERT_TRUE(list.add_kernel(kernel_, {&c, 1}, {&b, 1}).is_ok());
  ASSERT_TRUE(list.finish().is_ok());
  std::vector<float> arena(512);
  void* binding = arena.data();
  ASSERT_TRUE(list.run({&binding, 1}).is_ok());
  EXPECT_EQ(arena[256], 1);
  EXPECT_EQ(arena[128], 2);
}

}  // namespace
}  // namespace sluice::cpu
