#include "guest/proxy/guest.h"

#include <gtest/gtest.h>

#include <functional>

#include "guest/proxy/testing/emulated_guests.h"

namespace sluice::guest {
namespace {

constexpr std::uint64_t kNumSeeds = 16;
constexpr int kNew = 9;

using GuestStreams = EmulatedGuests;

TEST_F(GuestStreams, StreamWaitsForTheDefaultStreamWhileAnotherIsCaptured) {
  for (std::uint64_t seed = 1; seed <= kNumSeeds; ++seed) {
    start(seed);
    CallingGuest guest(*device_);
    const std::uint64_t first = guest.make_memory(4);
    const std::uint64_t second = guest.make_memory(4);
    const std::uint64_t captured = guest.make_stream();
    const std::uint64_t other = guest.make_stream();
    ASSERT_EQ(guest.fill(first, kNew, kDefaultStream), CuResult::kSuccess);
    ASSERT_EQ(guest.begin_capture(captured), CuResult::kSuccess);
    ASSERT_EQ(guest.copy(second, first, other), CuResult::kSuccess);
    EXPECT_EQ(guest.read(second, other), kNew) << "seed " << seed;
  }
}

TEST_F(GuestStreams, DefaultStreamWaitsForWorkThatCameDuringACapture) {
  for (std::uint64_t seed = 1; seed <= kNumSeeds; ++seed) {
    start(seed);
    CallingGuest guest(*device_);
    const std::uint64_t memory = guest.make_memory(4);
    const std::uint64_t captured = guest.make_stream();
    const std::uint64_t other = guest.make_stream();
    ASSERT_EQ(guest.begin_capture(captured), CuResult::kSuccess);
    ASSERT_EQ(guest.fill(memory, kNew, other), CuResult::kSuccess);
    ASSERT_EQ(guest.ask(CallKind::kCaptureEnd, HandleBody{.handle = captured}), CuResult::kSuccess);
    EXPECT_EQ(guest.read(memory, kDefaultStream), kNew) << "seed " << seed;
  }
}

/// Makes `joined` a part of the capture of `captured`.
void join(CallingGuest& guest, std::uint64_t captured, std::uint64_t joined) {
  const std::uint64_t event = guest.make(CallKind::kEventCreate, HandleBody{});
  ASSERT_EQ(guest.ask(CallKind::kEventRecord, HandleBody{.handle = event, .other = captured}),
            CuResult::kSuccess);
  ASSERT_EQ(guest.ask(CallKind::kStreamWaitEvent, HandleBody{.handle = joined, .other = event}),
            CuResult::kSuccess);
}

TEST_F(GuestStreams, UseOfTheDefaultStreamEndsTheCaptureOfABlockingStream) {
  start();
  CallingGuest guest(*device_);
  const std::uint64_t memory = guest.make_memory(4);
  const std::uint64_t captured = guest.make_stream();
  ASSERT_EQ(guest.begin_capture(captured), CuResult::kSuccess);
  EXPECT_EQ(guest.fill(memory, kNew, kDefaultStream), CuResult::kCaptureImplicit);
  EXPECT_EQ(guest.ask(CallKind::kCaptureEnd, HandleBody{.handle = captured}),
            CuResult::kCaptureInvalidated);
  EXPECT_EQ(guest.fill(memory, kNew, kDefaultStream), CuResult::kSuccess);
}

TEST_F(GuestStreams, DefaultStreamWorksBesideTheCaptureOfANonBlockingStreamButCannotJoinIt) {
  start();
  CallingGuest guest(*device_);
  const std::uint64_t memory = guest.make_memory(4);
  const std::uint64_t captured = guest.make_stream(cuda::kStreamNonBlocking);
  ASSERT_EQ(guest.begin_capture(captured), CuResult::kSuccess);
  EXPECT_EQ(guest.fill(memory, kNew, kDefaultStream), CuResult::kSuccess);
  EXPECT_EQ(guest.read(memory, kDefaultStream), kNew);
  const std::uint64_t event = guest.make(CallKind::kEventCreate, HandleBody{});
  ASSERT_EQ(guest.ask(CallKind::kEventRecord, HandleBody{.handle = event, .other = captured}),
            CuResult::kSuccess);
  EXPECT_EQ(
      guest.ask(CallKind::kStreamWaitEvent, HandleBody{.handle = kDefaultStream, .other = event}),
      CuResult::kCaptureImplicit);
}

TEST_F(GuestStreams, StreamsOfACaptureRefuseWhatAGraphCannotHold) {
  start();
  CallingGuest guest(*device_);
  const std::uint64_t memory = guest.make_memory(4);
  const std::uint64_t captured = guest.make_stream();
  const std::uint64_t joined = guest.make_stream();
  ASSERT_EQ(guest.begin_capture(captured), CuResult::kSuccess);
  join(guest, captured, joined);
  const std::uint64_t free_bytes = guest.free_bytes();
  for (const std::uint64_t stream : {captured, joined}) {
    SCOPED_TRACE(stream);
    const MemoryBody body = {.target = memory, .source = memory, .bytes = 4, .stream = stream};
    EXPECT_EQ(guest.ask(CallKind::kCopyIn, body, "four"), CuResult::kCaptureUnsupported);
    EXPECT_EQ(guest.ask(CallKind::kCopyOut, body), CuResult::kCaptureUnsupported);
    EXPECT_EQ(guest.ask(CallKind::kAllocateInOrder, body), CuResult::kCaptureUnsupported);
    EXPECT_EQ(guest.ask(CallKind::kFreeInOrder, body), CuResult::kCaptureUnsupported);
  }
  EXPECT_EQ(guest.free_bytes(), free_bytes);
}

TEST_F(GuestStreams, FreeDoesNotEndACaptureThatAStreamHasJoined) {
  start();
  CallingGuest guest(*device_);
  const std::uint64_t memory = guest.make_memory(4);
  const std::uint64_t captured = guest.make_stream();
  const std::uint64_t joined = guest.make_stream();
  ASSERT_EQ(guest.begin_capture(captured), CuResult::kSuccess);
  join(guest, captured, joined);
  EXPECT_EQ(guest.ask(CallKind::kFree, MemoryBody{.target = memory}), CuResult::kSuccess);
  EXPECT_EQ(guest.make(CallKind::kCaptureAsk, HandleBody{.handle = captured}),
            static_cast<std::uint64_t>(cuda::CuCaptureStatus::kActive));
}

int num_destroyed = 0;  // streams; the driver's functions are plain pointers

class CountedStreams : public EmulatedGuests {
 protected:
  void change(cuda::DriverTable& table) override {
    static cuda::DriverTable emulated;
    emulated = table;
    table.stream_destroy = [](cuda::CuStream stream) {
      const CuResult result = emulated.stream_destroy(stream);
      if (result == CuResult::kSuccess) ++num_destroyed;
      return result;
    };
    table.stream_create_with_priority = [](cuda::CuStream* stream, unsigned flags, int priority) {
      const CuResult result = emulated.stream_create_with_priority(stream, flags, priority);
      if (result == CuResult::kSuccess) --num_destroyed;
      return result;
    };
  }
};

int num_pools = 0;

class CountedPools : public EmulatedGuests {
 protected:
  void change(cuda::DriverTable& table) override {
    static cuda::DriverTable emulated;
    emulated = table;
    table.mem_pool_create = [](cuda::CuMemoryPool* pool, const auto* properties) {
      ++num_pools;
      return emulated.mem_pool_create(pool, properties);
    };
  }
};

TEST_F(CountedPools, PoolIsMadeWithTheDeviceAndServesAllGuests) {
  num_pools = 0;
  start();
  EXPECT_EQ(num_pools, 1);
  for (int i = 0; i < 3; ++i) {
    CallingGuest guest(*device_);
    EXPECT_NE(guest.make_memory(4096), 0U);
  }
  EXPECT_EQ(num_pools, 1);
}

TEST_F(CountedStreams, GuestThatLeavesWithinACaptureGivesTheStreamsBackThatJoined) {
  num_destroyed = 0;
  start();
  CallingGuest guest(*device_);
  const std::uint64_t joined = guest.make_stream();  // leaves before the stream that it joined
  const std::uint64_t captured = guest.make_stream();
  ASSERT_EQ(guest.begin_capture(captured), CuResult::kSuccess);
  join(guest, captured, joined);
  EXPECT_EQ(guest.ask(CallKind::kStreamDestroy, HandleBody{.handle = joined}),
            CuResult::kCaptureUnsupported);
  guest.leave();
  stop();
  EXPECT_EQ(num_destroyed, 0);
}

int num_waits = 0;  // of a stream for an event

class CountedWaits : public EmulatedGuests {
 protected:
  void change(cuda::DriverTable& table) override {
    static cuda::DriverTable emulated;
    emulated = table;
    table.stream_wait_event = [](cuda::CuStream stream, cuda::CuEvent event, unsigned flags) {
      ++num_waits;
      return emulated.stream_wait_event(stream, event, flags);
    };
  }
};

TEST_F(CountedWaits, StreamWaitsForEventsOfOthersAloneWhereverTheyWereRecordedLast) {
  start();
  CallingGuest guest(*device_);
  const std::uint64_t stream = guest.make_stream(cuda::kStreamNonBlocking);
  const std::uint64_t other = guest.make_stream(cuda::kStreamNonBlocking);
  const std::uint64_t event = guest.make(CallKind::kEventCreate, HandleBody{});
  const auto record = [&](std::uint64_t in) {
    ASSERT_EQ(guest.ask(CallKind::kEventRecord, HandleBody{.handle = event, .other = in}),
              CuResult::kSuccess);
  };
  const auto waits_of = [&](std::uint64_t one) {
    num_waits = 0;
    EXPECT_EQ(guest.ask(CallKind::kStreamWaitEvent, HandleBody{.handle = one, .other = event}),
              CuResult::kSuccess);
    return num_waits;
  };
  record(stream);
  EXPECT_EQ(waits_of(stream), 0);
  EXPECT_EQ(waits_of(other), 1);
  record(other);
  EXPECT_EQ(waits_of(stream), 1);
  EXPECT_EQ(waits_of(other), 0);
}

TEST_F(CountedWaits, CapturedStreamStillRefusesItsOwnEarlierEvent) {
  start();
  CallingGuest guest(*device_);
  const std::uint64_t stream = guest.make_stream(cuda::kStreamNonBlocking);
  const std::uint64_t event = guest.make(CallKind::kEventCreate, HandleBody{});
  ASSERT_EQ(guest.ask(CallKind::kEventRecord, HandleBody{.handle = event, .other = stream}),
            CuResult::kSuccess);
  ASSERT_EQ(guest.begin_capture(stream), CuResult::kSuccess);
  EXPECT_EQ(guest.ask(CallKind::kStreamWaitEvent, HandleBody{.handle = stream, .other = event}),
            CuResult::kCaptureIsolation);
}

/// A driver that answers questions to streams with a result of the test's choice.
class AnsweringStreams : public EmulatedGuests {
 protected:
  static inline CuResult answer = CuResult::kSuccess;

  void change(cuda::DriverTable& table) override {
    table.stream_query = [](cuda::CuStream /*stream*/) { return answer; };
  }
};

TEST_F(AnsweringStreams, DeviceIsLostBehindEachErrorThatEndsItsContext) {
  for (const int number : {214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719}) {
    answer = static_cast<CuResult>(number);
    start();
    CallingGuest guest(*device_);
    EXPECT_EQ(guest.ask(CallKind::kStreamAsk, HandleBody{}), answer);
    EXPECT_TRUE(device_->is_lost()) << number;
  }
}

TEST_F(AnsweringStreams, DeviceIsNotLostBehindAnErrorOfOneCall) {
  answer = CuResult::kInvalidHandle;
  start();
  CallingGuest guest(*device_);
  EXPECT_EQ(guest.ask(CallKind::kStreamAsk, HandleBody{}), answer);
  EXPECT_FALSE(device_->is_lost());
}

TEST_F(GuestStreams, FaultOfAGuestThatLeavesWithoutAWaitLosesTheDevice) {
  start();
  CallingGuest guest(*device_);
  const KernelFacts store = guest.find_store();
  ASSERT_EQ(guest.launch(store.kernel, /*to=*/16, kDefaultStream), CuResult::kSuccess);
  guest.leave();
  EXPECT_TRUE(device_->is_lost());
}

TEST_F(GuestStreams, LostContextIsToldByEveryCallThatEntersAStream) {
  start();
  CallingGuest guest(*device_);
  const KernelFacts store = guest.find_store();
  const std::uint64_t stream = guest.make_stream();
  const std::uint64_t event = guest.make(CallKind::kEventCreate, HandleBody{});
  ASSERT_EQ(guest.begin_capture(stream), CuResult::kSuccess);
  const std::uint64_t graph = guest.make(CallKind::kCaptureEnd, HandleBody{.handle = stream});
  const std::uint64_t exec = guest.make(CallKind::kGraphInstantiate, HandleBody{.handle = graph});
  // The default stream has to wait for this one, which meets a fault.
  ASSERT_EQ(guest.launch(store.kernel, /*to=*/16, stream), CuResult::kSuccess);
  EXPECT_EQ(guest.ask(CallKind::kStreamWait, HandleBody{.handle = stream}),
            CuResult::kIllegalAddress);
  EXPECT_EQ(guest.ask(CallKind::kEventRecord, HandleBody{.handle = event}),
            CuResult::kIllegalAddress);
  EXPECT_EQ(guest.ask(CallKind::kGraphLaunch, HandleBody{.handle = exec}),
            CuResult::kIllegalAddress);
}

}  // namespace
}  // namespace sluice::guest
