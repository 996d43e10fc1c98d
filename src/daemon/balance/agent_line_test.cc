#include "daemon/balance/agent_line.h"

#include <gtest/gtest.h>

namespace sluice::daemon {
namespace {

constexpr std::int64_t kHour = 3'600'000'000'000;

TEST(AgentLine, WeightIsTheShareThatIsFree) {
  EXPECT_EQ(agent_line({.uptime_ns = kHour, .load = 0}), "up 100%\n");
  EXPECT_EQ(agent_line({.uptime_ns = kHour, .load = 0.25}), "up 75%\n");
}

TEST(AgentLine, FullDaemonIsNotDrained) {
  EXPECT_EQ(agent_line({.uptime_ns = kHour, .load = 1}), "up 1%\n");
}

TEST(AgentLine, NewDaemonEndsTheDrainOfItsPredecessor) {
  EXPECT_EQ(agent_line({.uptime_ns = 0, .load = 0.5}), "ready up 50%\n");
}

TEST(AgentLine, DrainComesBeforeAnythingElse) {
  EXPECT_EQ(agent_line({.is_draining = true, .is_ready = false, .has_failed = true}), "drain\n");
}

TEST(AgentLine, DaemonThatCannotAnswerIsDown) {
  EXPECT_EQ(agent_line({.is_ready = false, .reason = "the daemon loads its models"}),
            "down #the daemon loads its models\n");
  EXPECT_EQ(agent_line({.has_failed = true}), "down #all models have failed\n");
}

}  // namespace
}  // namespace sluice::daemon
