#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "shm/ring_client.h"
#include "shm/ring_server.h"
#include "shm/shared_memory.h"

namespace sluice::shm {
namespace {

constexpr std::uint32_t kEntries = 4;
constexpr std::int64_t kLongNs = 3'600'000'000'000;  // a wait that only its end ends is a hang

class RingTest : public ::testing::Test {
 protected:
  RingTest()
      : memory_(SharedMemory::create(static_cast<std::int64_t>(ring_bytes(kEntries))).value()),
        client_(memory_.memory(), kEntries),
        server_(create(memory_.memory())) {}

  static RingServer create(std::span<std::byte> memory) {
    RingClient::format(memory, kEntries);
    return RingServer::create(memory).value();
  }

  RingControl& control() { return *reinterpret_cast<RingControl*>(memory_.memory().data()); }

  static Submission request(std::uint64_t id) {
    Submission submission;
    submission.head.request = id;
    submission.head.num_inputs = 1;
    submission.tensors[0].offset = id * 64;
    return submission;
  }
  static Completion answer(std::uint64_t id) {
    Completion completion;
    completion.head.request = id;
    return completion;
  }

  SharedMemory memory_;
  RingClient client_;
  RingServer server_;
};

TEST_F(RingTest, CarriesRequestsThereAndAnswersBackAroundItsEnd) {
  for (std::uint64_t id = 0; id < 3 * kEntries; ++id) {
    ASSERT_TRUE(client_.submit(request(id)));
    Submission taken;
    ASSERT_EQ(server_.take(taken), RingServer::Take::kEntry);
    EXPECT_EQ(taken.head.request, id);
    EXPECT_EQ(taken.tensors[0].offset, id * 64);
    EXPECT_EQ(server_.take(taken), RingServer::Take::kNone);
    Completion completion = answer(id);
    completion.head.message_bytes = 2;
    std::memcpy(completion.message.data(), "no", 2);
    server_.complete(completion);
    Completion back;
    ASSERT_TRUE(client_.take(back));
    EXPECT_EQ(back.head.request, id);
    EXPECT_EQ(std::string_view(back.message.data(), back.head.message_bytes), "no");
    EXPECT_FALSE(client_.take(back));
  }
}

TEST_F(RingTest, InFlightRequestsAreLimitedToTheNumberOfEntries) {
  for (std::uint64_t id = 0; id < kEntries; ++id) ASSERT_TRUE(client_.submit(request(id)));
  EXPECT_FALSE(client_.submit(request(9)));
  Submission taken;
  for (std::uint64_t id = 0; id < kEntries; ++id) {
    ASSERT_EQ(server_.take(taken), RingServer::Take::kEntry);
    server_.complete(answer(id));
  }
  EXPECT_FALSE(client_.submit(request(9)));
  Completion back;
  ASSERT_TRUE(client_.take(back));
  EXPECT_TRUE(client_.submit(request(9)));
}

/// The client does not keep to the number of entries itself.
TEST_F(RingTest, EntryIsTakenOnceItsCompletionHasRoom) {
  Submission taken;
  for (std::uint64_t id = 0; id < kEntries; ++id) {
    ASSERT_TRUE(client_.submit(request(id)));
    ASSERT_EQ(server_.take(taken), RingServer::Take::kEntry);
    server_.complete(answer(id));
  }
  control().submission_tail.value = kEntries + 1;
  EXPECT_EQ(server_.take(taken), RingServer::Take::kNone);
  Completion back;
  ASSERT_TRUE(client_.take(back));
  EXPECT_EQ(back.head.request, 0U);
  EXPECT_EQ(server_.take(taken), RingServer::Take::kEntry);
}

TEST_F(RingTest, ImpossiblePositionsBreakTheirRingOnly) {
  Submission taken;
  control().submission_tail.value = kEntries + 1;
  EXPECT_EQ(server_.take(taken), RingServer::Take::kBroken);
  control().submission_tail.value = 1;
  control().completion_head.value = 77;
  EXPECT_EQ(server_.take(taken), RingServer::Take::kBroken);
  control().completion_head.value = 0;
  EXPECT_EQ(server_.take(taken), RingServer::Take::kEntry);
}

TEST_F(RingTest, EntryWithMoreTensorsThanFitIsBadAndTheNextIsTaken) {
  Submission bad = request(1);
  bad.head.num_inputs = 0xFFFFFFFF;
  bad.head.num_outputs = 2;  // the sum wraps around in 32 bits
  ASSERT_TRUE(client_.submit(bad));
  ASSERT_TRUE(client_.submit(request(2)));
  Submission taken;
  EXPECT_EQ(server_.take(taken), RingServer::Take::kBad);
  EXPECT_EQ(taken.head.request, 1U);
  EXPECT_EQ(server_.take(taken), RingServer::Take::kEntry);
  EXPECT_EQ(taken.head.request, 2U);
}

TEST_F(RingTest, DaemonStateIsNotReadFromSharedMemory) {
  ASSERT_TRUE(client_.submit(request(1)));
  control().submission_head.value = 0xFFFFFFFF;
  control().completion_tail.value = 0xFFFFFFFF;
  control().header = {0, 0, 0xFFFFFFFF};
  Submission taken;
  ASSERT_EQ(server_.take(taken), RingServer::Take::kEntry);
  server_.complete(answer(1));
  EXPECT_EQ(control().completion_tail.value, 1U);
}

TEST(RingServer, RefusesInvalidRings) {
  auto memory = SharedMemory::create(static_cast<std::int64_t>(ring_bytes(kEntries))).value();
  EXPECT_FALSE(RingServer::create(memory.memory()).is_ok());
  EXPECT_FALSE(RingServer::create(memory.memory().first(100)).is_ok());
  RingClient::format(memory.memory(), kEntries);
  EXPECT_TRUE(RingServer::create(memory.memory()).is_ok());
  EXPECT_FALSE(RingServer::create(memory.memory().first(memory.memory().size() - 1)).is_ok());
  auto& header = reinterpret_cast<RingControl*>(memory.memory().data())->header;
  for (const std::uint32_t entries : {0U, 3U, 8U, 2048U, 0xFFFFFFFFU}) {
    header.num_entries = entries;
    EXPECT_FALSE(RingServer::create(memory.memory()).is_ok()) << entries;
  }
  header.num_entries = kEntries;
  header.version = 2;
  EXPECT_FALSE(RingServer::create(memory.memory()).is_ok());
}

TEST_F(RingTest, SleepersOfBothSidesAreWoken) {
  std::thread daemon([&] {
    Submission taken;
    for (int answered = 0; answered < 1000;) {
      if (server_.take(taken) == RingServer::Take::kEntry) {
        server_.complete(answer(taken.head.request));
        ++answered;
      } else {
        server_.wait(0, kLongNs);
      }
    }
  });
  Completion back;
  for (std::uint64_t id = 0; id < 1000; ++id) {
    ASSERT_TRUE(client_.submit(request(id)));
    while (!client_.take(back)) client_.wait(0, kLongNs);
    EXPECT_EQ(back.head.request, id);
  }
  daemon.join();
}

TEST_F(RingTest, ClosingWakesTheClient) {
  std::thread daemon([&] { server_.close(); });
  while (!client_.is_closed()) client_.wait(0, kLongNs);
  daemon.join();
}

TEST_F(RingTest, WakeEndsTheNextWaitOfTheClient) {
  client_.wake();
  client_.wait(0, kLongNs);
}

TEST_F(RingTest, SubmissionIsPassedOnWhenTheNextOneIsTaken) {
  EXPECT_FALSE(client_.has_untaken());
  ASSERT_TRUE(client_.submit(request(1)));
  Submission taken;
  ASSERT_EQ(server_.take(taken), RingServer::Take::kEntry);
  EXPECT_TRUE(client_.has_untaken()) << "the daemon may be about to pass it on";
  EXPECT_EQ(server_.take(taken), RingServer::Take::kNone);
  EXPECT_FALSE(client_.has_untaken());
}

}  // namespace
}  // namespace sluice::shm
