#include "base/system/watchdog.h"

#include <gtest/gtest.h>

#include <future>

namespace sluice {
namespace {

constexpr std::int64_t kMsNs = 1'000'000;
constexpr std::int64_t kHourNs = 3'600'000 * kMsNs;

TEST(Watchdog, TellsOfTheScopeThatIsLate) {
  std::promise<std::string> late;
  Watchdog dog([&](const std::string& what) { late.set_value(what); });
  const auto patient = dog.watch("patient", kHourNs);
  const auto unwatched = dog.watch("unwatched", 0);
  { const auto ended = dog.watch("ended", kHourNs); }
  const auto hung = dog.watch("hung", kMsNs);
  EXPECT_EQ(late.get_future().get(), "hung");
}

TEST(Watchdog, ScopeThatEndsInTimeIsForgotten) {
  int num_late = 0;
  {
    Watchdog dog([&](const std::string&) { ++num_late; });
    for (int i = 0; i < 100; ++i) const auto watch = dog.watch("quick", kHourNs);
  }
  EXPECT_EQ(num_late, 0);
}

}  // namespace
}  // namespace sluice
