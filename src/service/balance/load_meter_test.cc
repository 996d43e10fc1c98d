#include "service/balance/load_meter.h"

#include <gtest/gtest.h>

namespace sluice::service {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

LoadSample of(std::vector<LoadSample::Group> groups, double fullest_line = 0) {
  return {std::move(groups), fullest_line};
}

TEST(LoadMeter, LoadIsThatOfTheBusiestGroup) {
  LoadMeter meter;
  const terms::CoreGroupId wide(1);
  const terms::CoreGroupId narrow(2);
  EXPECT_DOUBLE_EQ(meter.load(0, [&] { return of({{wide, 8, 5 * kSecond}, {narrow, 1, 0}}); }), 0);
  // One of eight cores was busy, and half of the one core.
  const auto later = [&] { return of({{wide, 8, 6 * kSecond}, {narrow, 1, kSecond / 2}}); };
  EXPECT_DOUBLE_EQ(meter.load(kSecond, later), 0.5);
}

TEST(LoadMeter, FullWaitingLineIsFullLoad) {
  LoadMeter meter;
  EXPECT_DOUBLE_EQ(meter.load(0, [] { return of({}, 1); }), 1);
  EXPECT_DOUBLE_EQ(meter.load(kSecond,
                              [] {
                                return of({{terms::CoreGroupId(1), 2, 0}}, 0.25);
                              }),
                   0.25);
}

TEST(LoadMeter, FrequentCallersShareAnInterval) {
  LoadMeter meter;
  int num_samples = 0;
  const auto sample = [&] {
    ++num_samples;
    return of({{terms::CoreGroupId(1), 1, num_samples * kSecond / 4}});
  };
  for (std::int64_t now_ns = 0; now_ns <= kSecond; now_ns += kSecond / 10) {
    (void)meter.load(now_ns, sample);
  }
  EXPECT_EQ(num_samples, 3);
  EXPECT_DOUBLE_EQ(meter.load(kSecond, sample), 0.5);
}

TEST(LoadMeter, LoadStaysWithinItsBounds) {
  LoadMeter meter;
  const auto busy = [](std::int64_t ns) { return of({{terms::CoreGroupId(1), 1, ns}}); };
  (void)meter.load(0, [&] { return busy(0); });
  // A long kernel counts when it ends.
  EXPECT_DOUBLE_EQ(meter.load(kSecond, [&] { return busy(9 * kSecond); }), 1);
  // A worker that restarted counts from zero.
  EXPECT_DOUBLE_EQ(meter.load(2 * kSecond, [&] { return busy(0); }), 0);
}

}  // namespace
}  // namespace sluice::service
