#include "telemetry/trace_ids.h"

#include <gtest/gtest.h>

#include <set>

namespace sluice::telemetry {
namespace {

TEST(TraceIds, DifferFromEachOther) {
  std::set<terms::TraceId> traces;
  std::set<terms::SpanId> spans;
  for (int i = 0; i < 1000; ++i) {
    traces.insert(new_trace_id());
    spans.insert(new_span_id());
  }
  EXPECT_EQ(traces.size(), 1000U);
  EXPECT_EQ(spans.size(), 1000U);
}

TEST(Sampling, TakesAboutOneOfTheRate) {
  int num_taken = 0;
  for (int i = 0; i < 100'000; ++i) num_taken += is_one_of(100) ? 1 : 0;
  // 1000 are expected; ten standard deviations to each side.
  EXPECT_GT(num_taken, 680);
  EXPECT_LT(num_taken, 1320);
  EXPECT_TRUE(is_one_of(1));
}

}  // namespace
}  // namespace sluice::telemetry
