#include "pool/pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "pool/cpu_set.h"
#include "support/eventually.h"
#include "support/process.h"

namespace sluice::cpu {
namespace {

std::vector<int> cpus(int count) {
  std::vector<int> allowed = allowed_cpus();
  std::vector<int> chosen;
  for (int i = 0; i < count; ++i)
    chosen.push_back(allowed[static_cast<std::size_t>(i) % allowed.size()]);
  return chosen;
}

/// Each step's sum needs every member's part of the step before.
struct Relay {
  static constexpr int kSteps = 200;
  std::vector<long> parts[2];
  long total = 0;

  static void run(void* context, const Member& member) {
    Relay& self = *static_cast<Relay*>(context);
    if (member.index() == 0) {
      for (auto& part : self.parts) part.assign(static_cast<std::size_t>(member.count()), 1);
    }
    member.sync();
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<long>& from = self.parts[step % 2];
      const long sum = std::accumulate(from.begin(), from.end(), 0L);
      self.parts[(step + 1) % 2][static_cast<std::size_t>(member.index())] = sum % 1000003;
      member.sync();
    }
    if (member.index() == 0) self.total = self.parts[kSteps % 2][0];
  }
};

long expected(int count) {
  long value = 1;
  for (int i = 0; i < Relay::kSteps; ++i) value = value * count % 1000003;
  return value;
}

TEST(ThreadPool, MembersSeeEachOthersWritesAfterSync) {
  for (const int count : {1, 2, 3, 5}) {
    ThreadPool pool(cpus(count));
    for (int round = 0; round < 20; ++round) {
      Relay relay;
      pool.run(&Relay::run, &relay);
      EXPECT_EQ(relay.total, expected(count)) << count;
    }
  }
}

TEST(ThreadPool, RunsEveryTaskOfConcurrentCallers) {
  ThreadPool pool(cpus(2));
  std::vector<std::thread> callers;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        Relay relay;
        pool.run(&Relay::run, &relay);
        right += relay.total == expected(2) || relay.total == expected(1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(right, 200);
}

/// Pieces of many offers, each taken once and done before the next offer.
struct Offers {
  static constexpr int kOffers = 500;
  static constexpr int kPieces = 7;
  ThreadPool* pool = nullptr;
  std::atomic<int> next{0};
  std::array<int, kPieces> times_done = {};
  std::atomic<int> helpers_pieces{0};
  int wrong = 0;

  static void take_part(void* context, const Member& member) {
    Offers& self = *static_cast<Offers*>(context);
    for (int piece = self.next++; piece < kPieces; piece = self.next++) {
      ++self.times_done[static_cast<std::size_t>(piece)];
      self.helpers_pieces += member.index() > 0;
    }
  }
  static void lead(void* context, const Member& member) {
    Offers& self = *static_cast<Offers*>(context);
    for (int offer = 0; offer < kOffers; ++offer) {
      self.next = 0;
      if (member.count() > 1) self.pool->offer();
      take_part(context, member);
      if (member.count() > 1) self.pool->withdraw();
      for (const int times : self.times_done) self.wrong += times != offer + 1;
    }
  }
};

TEST(ThreadPool, WithdrawReturnsAfterEveryOfferedPieceRanOnce) {
  for (const int count : {1, 2, 3}) {
    ThreadPool pool(cpus(count));
    for (int round = 0; round < 20; ++round) {
      Offers offers;
      offers.pool = &pool;
      pool.lead(&Offers::lead, &Offers::take_part, &offers);
      EXPECT_EQ(offers.wrong, 0) << count;
      Relay relay;  // pinned runs may follow led ones
      pool.run(&Relay::run, &relay);
      EXPECT_EQ(relay.total, expected(count)) << count;
    }
  }
}

TEST(ThreadPool, HelperTakesPiecesWhileTheLeaderWaits) {
  ThreadPool pool(cpus(2));
  Offers offers;
  offers.pool = &pool;
  // Terminates: the leader waits until a helper has taken the pieces.
  while (offers.helpers_pieces == 0) {
    offers.times_done = {};
    pool.lead(
        [](void* context, const Member&) {
          Offers& self = *static_cast<Offers*>(context);
          self.next = 0;
          self.pool->offer();
          while (self.next < Offers::kPieces) std::this_thread::yield();
          self.pool->withdraw();
        },
        &Offers::take_part, &offers);
  }
  EXPECT_EQ(offers.helpers_pieces, Offers::kPieces);
}

TEST(ThreadPool, IdleThreadsSleep) {
  ThreadPool pool(cpus(3));
  Relay relay;
  pool.run(&Relay::run, &relay);
  // A thread that spins on and on is never seen asleep at all of many looks in a row.
  int asleep = 0;
  EXPECT_TRUE(sluice::testing::eventually([&] {
    const auto threads = sluice::testing::threads_of(getpid());
    const bool all_sleep = std::ranges::all_of(threads, [](pid_t thread) {
      return thread == gettid() || sluice::testing::state_of(getpid(), thread) == 'S';
    });
    asleep = all_sleep ? asleep + 1 : 0;
    return asleep == 20;
  }));
}

TEST(ThreadPool, FlushesDenormalsInsideTasksOnly) {
  ThreadPool pool(cpus(2));
  struct Halved {
    volatile float tiny = 1.2e-38f;
    float result[2] = {1, 1};
  } halved;
  pool.run(
      [](void* context, const Member& member) {
        auto& self = *static_cast<Halved*>(context);
        self.result[member.index()] = self.tiny * 0.25f;
      },
      &halved);
#if defined(__x86_64__)
  EXPECT_EQ(halved.result[0], 0);
  EXPECT_EQ(halved.result[1], 0);
#endif
  EXPECT_NE(halved.tiny * 0.25f, 0);
}

TEST(CpuQuota, ParsesCpuMaxOfControlGroups) {
  EXPECT_DOUBLE_EQ(parse_cpu_quota("150000 100000"), 1.5);
  EXPECT_DOUBLE_EQ(parse_cpu_quota("max 100000"), 0);
  EXPECT_DOUBLE_EQ(parse_cpu_quota(""), 0);
  EXPECT_DOUBLE_EQ(parse_cpu_quota("-1 0"), 0);
}

}  // namespace
}  // namespace sluice::cpu
