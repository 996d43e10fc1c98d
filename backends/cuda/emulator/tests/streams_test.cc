// Order of work in streams: only what events and streams promise.

#include <array>
#include <thread>

#include "emulator/testing/emulator_test.h"

namespace sluice::cuda::emulator {
namespace {

constexpr std::uint64_t kSeeds = 64;

class StreamsTest : public EmulatorTest {
 protected:
  /// Writes 1 to an int in one stream and reads it in another. What the reader saw.
  int write_and_read(std::uint64_t seed, bool waits) {
    start_with_seed(seed);
    const CuStream writer = make_stream();
    const CuStream reader = make_stream();
    const CuEvent written = make_event();
    const CuDevicePointer number = make_int(0);
    int* const seen = make_pinned<int>();
    EXPECT_EQ(launch("add", {number, 1}, writer), CuResult::kSuccess);
    EXPECT_EQ(cu_.event_record(written, writer), CuResult::kSuccess);
    if (waits) {
      EXPECT_EQ(cu_.stream_wait_event(reader, written, 0), CuResult::kSuccess);
    }
    EXPECT_EQ(cu_.memcpy_dtoh_async(seen, number, 4, reader), CuResult::kSuccess);
    EXPECT_EQ(cu_.ctx_synchronize(), CuResult::kSuccess);
    return *seen;
  }
};

TEST_F(StreamsTest, ReaderThatWaitsForTheWriterSeesItsBytesInEveryOrder) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) EXPECT_EQ(write_and_read(seed, true), 1);
}

TEST_F(StreamsTest, DeletedWaitShowsInSomeOrder) {
  int num_stale = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) num_stale += 1 - write_and_read(seed, false);
  EXPECT_GT(num_stale, 0);
  EXPECT_LT(num_stale, static_cast<int>(kSeeds));
}

TEST_F(StreamsTest, OneSeedGivesOneOrder) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EXPECT_EQ(write_and_read(seed, false), write_and_read(seed, false));
  }
}

TEST_F(StreamsTest, WorkOfOneStreamRunsInOrder) {
  start();
  const CuStream stream = make_stream();
  const CuDevicePointer number = make_int(5);
  EXPECT_EQ(launch("add", {number, 2}, stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.memset_d32_async(number, 100, 1, stream), CuResult::kSuccess);
  EXPECT_EQ(launch("add", {number, 1}, stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kSuccess);
  EXPECT_EQ(read_int(number), 101);
}

TEST_F(StreamsTest, NothingRunsBeforeSomebodyWaits) {
  start();
  const CuStream stream = make_stream();
  bool has_run = false;
  const auto note = [](void* flag) { *static_cast<bool*>(flag) = true; };
  EXPECT_EQ(cu_.launch_host_func(stream, note, &has_run), CuResult::kSuccess);
  EXPECT_FALSE(has_run);
  EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kSuccess);
  EXPECT_TRUE(has_run);
}

TEST_F(StreamsTest, AskingInALoopGetsWorkDone) {
  start();
  const CuStream stream = make_stream();
  const CuDevicePointer number = make_int(0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(launch("add", {number, 1}, stream), CuResult::kSuccess);
  int num_asked = 0;
  while (cu_.stream_query(stream) == CuResult::kNotReady) ++num_asked;
  EXPECT_EQ(num_asked, 9);
  EXPECT_EQ(read_int(number), 10);
}

TEST_F(StreamsTest, PinnedMemoryIsReadWhenTheCopyRuns) {
  start();
  const CuStream stream = make_stream();
  const CuDevicePointer number = make_int(0);
  int* const source = make_pinned<int>();
  *source = 1;
  EXPECT_EQ(cu_.memcpy_htod_async(number, source, 4, stream), CuResult::kSuccess);
  *source = 2;  // too early: the copy has not run
  EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kSuccess);
  EXPECT_EQ(read_int(number), 2);
}

TEST_F(StreamsTest, PageableMemoryIsTakenBeforeTheCallReturns) {
  start();
  const CuStream stream = make_stream();
  const CuDevicePointer number = make_int(0);
  int source = 1;
  EXPECT_EQ(cu_.memcpy_htod_async(number, &source, 4, stream), CuResult::kSuccess);
  source = 2;
  EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kSuccess);
  EXPECT_EQ(read_int(number), 1);
}

TEST_F(StreamsTest, DefaultStreamOrdersBlockingStreamsOnly) {
  int num_stale_of_others = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const unsigned flags : {0U, kStreamNonBlocking}) {
      start_with_seed(seed);
      const CuStream writer = make_stream(flags);
      const CuDevicePointer number = make_int(0);
      EXPECT_EQ(launch("add", {number, 1}, writer), CuResult::kSuccess);
      const int seen = read_int(number);  // through the default stream
      if (flags == 0) {
        EXPECT_EQ(seen, 1);
      } else {
        num_stale_of_others += 1 - seen;
      }
    }
  }
  EXPECT_GT(num_stale_of_others, 0);
}

TEST_F(StreamsTest, HostFunctionMayNotCallTheDriver) {
  start();
  struct Call {
    DriverTable* cu;
    CuResult result;
  } attempt = {&cu_, CuResult::kSuccess};
  const auto ask = [](void* data) {
    auto& mine = *static_cast<Call*>(data);
    std::size_t free = 0;
    mine.result = mine.cu->mem_get_info(&free, &free);
  };
  EXPECT_EQ(cu_.launch_host_func(nullptr, ask, &attempt), CuResult::kSuccess);
  EXPECT_EQ(cu_.stream_synchronize(nullptr), CuResult::kSuccess);
  EXPECT_EQ(attempt.result, CuResult::kNotPermitted);
}

TEST_F(StreamsTest, DestroyedHandleIsRefused) {
  start();
  const CuStream stream = make_stream();
  EXPECT_EQ(cu_.stream_destroy(stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kInvalidHandle);
  EXPECT_EQ(cu_.stream_destroy(stream), CuResult::kInvalidHandle);
}

TEST_F(StreamsTest, WorkOfADestroyedStreamStillRuns) {
  start();
  const CuStream stream = make_stream();
  const CuDevicePointer number = make_int(0);
  EXPECT_EQ(launch("add", {number, 7}, stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.stream_destroy(stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.ctx_synchronize(), CuResult::kSuccess);
  EXPECT_EQ(read_int(number), 7);
}

TEST_F(StreamsTest, EventTimesCountThePiecesBetween) {
  start();
  const CuEvent begin = make_event();
  const CuEvent end = make_event();
  const CuDevicePointer number = make_int(0);
  float milliseconds = 0;
  EXPECT_EQ(cu_.event_record(begin, nullptr), CuResult::kSuccess);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(launch("add", {number, 1}, nullptr), CuResult::kSuccess);
  EXPECT_EQ(cu_.event_record(end, nullptr), CuResult::kSuccess);
  EXPECT_EQ(cu_.event_elapsed_time(&milliseconds, begin, end), CuResult::kNotReady);
  EXPECT_EQ(cu_.event_synchronize(end), CuResult::kSuccess);
  EXPECT_EQ(cu_.event_elapsed_time(&milliseconds, begin, end), CuResult::kSuccess);
  EXPECT_FLOAT_EQ(milliseconds, 0.003F);
}

TEST_F(StreamsTest, ThreadsWaitForTheirOwnStreamsSideBySide) {
  start();
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  std::array<CuDevicePointer, kThreads> numbers = {};
  for (CuDevicePointer& number : numbers) number = make_int(0);
  std::vector<std::thread> threads;
  for (const CuDevicePointer number : numbers) {
    threads.emplace_back([this, number] {
      EXPECT_EQ(cu_.ctx_set_current(context_), CuResult::kSuccess);
      const CuStream stream = make_stream();
      for (int i = 0; i < kRounds; ++i) {
        EXPECT_EQ(launch("add", {number, 1}, stream), CuResult::kSuccess);
        EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kSuccess);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const CuDevicePointer number : numbers) EXPECT_EQ(read_int(number), kRounds);
}

}  // namespace
}  // namespace sluice::cuda::emulator
