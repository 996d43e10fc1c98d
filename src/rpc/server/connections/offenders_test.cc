#include "rpc/server/connections/offenders.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::rpc::server {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr Rate kRate = {.burst = 4, .per_second = 2};

int admitted(Offenders& offenders, const std::string& host, std::int64_t now_ns) {
  int count = 0;
  for (int i = 0; i < 100; ++i) count += offenders.admit(host, now_ns) ? 1 : 0;
  return count;
}

TEST(Offenders, HostWithoutABreachIsServed) {
  Offenders offenders(kRate);
  EXPECT_EQ(admitted(offenders, "a", 0), 100);
}

TEST(Offenders, BreachesAndConnectionsTakeTheTokensOfTheirHostOnly) {
  Offenders offenders(kRate);
  offenders.note("a", 0);
  EXPECT_EQ(admitted(offenders, "a", 0), kRate.burst - 1);
  EXPECT_EQ(admitted(offenders, "a", kSecond), kRate.per_second);
  EXPECT_EQ(admitted(offenders, "b", 0), 100);
  for (int i = 0; i < 100; ++i) offenders.note("a", kSecond);
  EXPECT_EQ(admitted(offenders, "a", kSecond), 0);
}

TEST(Offenders, HostIsForgivenWhenItsBucketIsFull) {
  Offenders offenders(kRate);
  offenders.note("a", 0);
  EXPECT_TRUE(offenders.contains("a"));
  EXPECT_EQ(admitted(offenders, "a", 10 * kSecond), 100);
  EXPECT_FALSE(offenders.contains("a"));
}

TEST(Offenders, TableIsBounded) {
  Offenders offenders(kRate);
  for (std::size_t i = 0; i < 3 * Offenders::kMaxHosts; ++i) offenders.note(std::to_string(i), 0);
  EXPECT_LE(offenders.size(), Offenders::kMaxHosts);
}

}  // namespace
}  // namespace sluice::rpc::server
