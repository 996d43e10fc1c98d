#include "base/system/processor.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "support/eventually.h"

namespace sluice {
namespace {

using testing::eventually;

cpu_set_t processors_of(pthread_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(pthread_getaffinity_np(thread, sizeof set, &set), 0);
  return set;
}

/// What a thread of a caller that may use these may use afterwards.
cpu_set_t others_for(const cpu_set_t& callers) {
  cpu_set_t left;
  std::thread caller([&] {
    ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof callers, &callers), 0);
    std::latch end(1);
    std::jthread helper = start_elsewhere([&] { end.wait(); });
    left = processors_of(helper.native_handle());
    end.count_down();
  });
  caller.join();
  return left;
}

TEST(Processor, HelperRunsOnTheCallersOtherProcessors) {
  const cpu_set_t all = processors_of(pthread_self());
  if (CPU_COUNT(&all) == 1) GTEST_SKIP() << "there is one processor only";
  EXPECT_TRUE(eventually([&] {  // the system may take a processor away meanwhile
    const cpu_set_t left = others_for(all);
    cpu_set_t outside;
    CPU_XOR(&outside, &all, &left);
    return CPU_COUNT(&left) == CPU_COUNT(&all) - 1 && CPU_COUNT(&outside) == 1;
  }));
}

TEST(Processor, ShortHelpersKeepTheCallersAffinity) {
  const auto call = [] {  // beside others, so that helpers end while their callers wait for a turn
    EXPECT_TRUE(eventually([] {  // the system may take a processor away meanwhile
      const cpu_set_t before = processors_of(pthread_self());
      for (int i = 0; i < 500; ++i) start_elsewhere([] {});
      const cpu_set_t after = processors_of(pthread_self());
      return CPU_EQUAL(&before, &after) != 0;
    }));
  };
  std::vector<std::jthread> callers(4);
  for (std::jthread& caller : callers) caller = std::jthread(call);
}

TEST(Processor, HelperStaysWhereTheCallerHasOneProcessor) {
  const int here = sched_getcpu();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(here), &one);
  EXPECT_TRUE(eventually([&] {
    const cpu_set_t left = others_for(one);
    return CPU_EQUAL(&left, &one) != 0;
  }));
}

/// Runs `work` on a thread of its own, whose affinity it may change.
void on_a_thread(const std::function<void()>& work) { std::thread(work).join(); }

TEST(Processor, ScopesKeepTheThreadThereAndGiveItsProcessorsBack) {
  on_a_thread([] {
    const std::vector<std::int32_t> all = usable_cpus();
    ASSERT_FALSE(all.empty());
    const std::vector<std::int32_t> first = {all.front()};
    const std::vector<std::int32_t> last = {all.back()};
    {
      const StayOn outer(last);
      EXPECT_EQ(usable_cpus(), last);
      EXPECT_EQ(sched_getcpu(), last.front());
      {
        const StayOn inner(first);
        EXPECT_EQ(usable_cpus(), first);
        EXPECT_EQ(sched_getcpu(), first.front());
      }
      EXPECT_EQ(usable_cpus(), last);
      const StayOn wider(all);
      EXPECT_EQ(usable_cpus(), last) << "a thread that is inside is not moved";
    }
    EXPECT_EQ(usable_cpus(), all);
  });
}

TEST(Processor, ProcessKeepsTheNumbersOfItsProcessors) {
  const std::vector<std::int32_t> before = process_cpus();
  on_a_thread([&] {
    stay_on(std::vector<std::int32_t>{before.back()});
    EXPECT_EQ(process_cpus(), before);
    {
      const OnProcessCpus on_all;
      EXPECT_EQ(usable_cpus(), before);
    }
    EXPECT_EQ(usable_cpus(), std::vector<std::int32_t>{before.back()});
  });
  // As where others take processors away from all threads of the process, the first, too.
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(getpid(), sizeof all, &all), 0);
  cpu_set_t last;
  CPU_ZERO(&last);
  CPU_SET(static_cast<std::size_t>(before.back()), &last);
  ASSERT_EQ(sched_setaffinity(getpid(), sizeof last, &last), 0);
  on_a_thread([&] { EXPECT_EQ(process_cpus(), before); });
  ASSERT_EQ(sched_setaffinity(getpid(), sizeof all, &all), 0);
}

TEST(Processor, ForkedProcessHasProcessorsOfItsOwn) {
  const std::vector<std::int32_t> before = process_cpus();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::vector<std::int32_t> one = {before.back()};
    stay_on(one);
    const bool is_own = process_cpus() == one;
    const std::vector<std::int32_t> told = {before.front()};
    set_process_cpus(told);
    _exit(is_own && process_cpus() == told ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(process_cpus(), before);
}

TEST(Processor, ScopeOfNoProcessorOrOfMissingOnesChangesNothing) {
  on_a_thread([] {
    const std::vector<std::int32_t> all = usable_cpus();
    const StayOn none({});
    EXPECT_EQ(usable_cpus(), all);
    if (all.back() == CPU_SETSIZE - 1) GTEST_SKIP() << "the machine has CPU_SETSIZE processors";
    const std::vector<std::int32_t> missing = {CPU_SETSIZE - 1};
    const StayOn nowhere(missing);
    EXPECT_EQ(usable_cpus(), all);
  });
}

}  // namespace
}  // namespace sluice
