#include "service/balance/load_meter.h"

#include <gtest/gtest.h>

namespace sluice::service {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

LoadSample of(std::vector<LoadSample::Group> groups, double fullest_line = 0) {
  LoadSample sample;
  sample.groups = std::move(groups);
  sample.fullest_line = fullest_line;
  return sample;
}

double load(LoadMeter& meter, std::int64_t now_ns, const std::function<LoadSample()>& sample) {
  return meter.report(now_ns, sample).utilization;
}

TEST(LoadMeter, LoadIsThatOfTheBusiestGroup) {
  LoadMeter meter;
  const terms::CoreGroupId wide(1);
  const terms::CoreGroupId narrow(2);
  EXPECT_DOUBLE_EQ(load(meter, 0, [&] { return of({{wide, 8, 5 * kSecond}, {narrow, 1, 0}}); }), 0);
  // One of eight cores was busy, and half of the one core.
  const auto later = [&] { return of({{wide, 8, 6 * kSecond}, {narrow, 1, kSecond / 2}}); };
  EXPECT_DOUBLE_EQ(load(meter, kSecond, later), 0.5);
}

TEST(LoadMeter, FullWaitingLineIsFullLoad) {
  LoadMeter meter;
  EXPECT_DOUBLE_EQ(load(meter, 0, [] { return of({}, 1); }), 1);
  EXPECT_DOUBLE_EQ(load(meter, kSecond,
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
    (void)load(meter, now_ns, sample);
  }
  EXPECT_EQ(num_samples, 3);
  EXPECT_DOUBLE_EQ(load(meter, kSecond, sample), 0.5);
}

TEST(LoadMeter, RatesAreOfTheIntervalThatEndedLast) {
  LoadMeter meter;
  const auto report = [&](std::int64_t now_ns, std::int64_t answered, std::int64_t failed) {
    return meter.report(now_ns, [&] {
      LoadSample sample;
      sample.answered = answered;
      sample.failed = failed;
      return sample;
    });
  };
  EXPECT_DOUBLE_EQ(report(0, 50, 5).requests_per_second, 0) << "there was no interval yet";
  EXPECT_DOUBLE_EQ(report(2 * kSecond, 70, 8).requests_per_second, 10);
  EXPECT_DOUBLE_EQ(report(2 * kSecond, 90, 9).errors_per_second, 1.5) << "the same interval";
  // The models that had answered were unloaded.
  EXPECT_DOUBLE_EQ(report(4 * kSecond, 1, 0).requests_per_second, 0);
  EXPECT_DOUBLE_EQ(report(6 * kSecond, 5, 0).requests_per_second, 2);
}

TEST(LoadMeter, LoadStaysWithinItsBounds) {
  LoadMeter meter;
  const auto busy = [](std::int64_t ns) { return of({{terms::CoreGroupId(1), 1, ns}}); };
  (void)load(meter, 0, [&] { return busy(0); });
  // A long kernel counts when it ends.
  EXPECT_DOUBLE_EQ(load(meter, kSecond, [&] { return busy(9 * kSecond); }), 1);
  // A worker that restarted counts from zero.
  EXPECT_DOUBLE_EQ(load(meter, 2 * kSecond, [&] { return busy(0); }), 0);
}

}  // namespace
}  // namespace sluice::service
