// Functions that join waiting requests, in this process, in a daemon and in a cell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "two_places.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;

class JoinedRequests : public TwoPlaces {
 protected:
  /// Requests of one to three images, all in flight at once; each must get its own rows.
  void ask_many(const LoadedModel& function) {
    const auto alone = function.infer(image());
    ASSERT_TRUE(alone) << alone.error().message;
    const auto expected = alone->output<float>()->values;
    std::vector<Request> requests;
    for (std::int64_t i = 0; i < 60; ++i) {
      auto request = function.submit(image(1 + i % 3));
      ASSERT_TRUE(request) << request.error().message;
      requests.push_back(std::move(*request));
    }
    for (std::int64_t i = 0; i < 60; ++i) {
      const auto reply = requests[static_cast<std::size_t>(i)].wait();
      ASSERT_TRUE(reply) << reply.error().message;
      const auto output = *reply->output<float>();
      ASSERT_EQ(output.dims, (std::vector<std::int64_t>{1 + i % 3, 10}));
      for (std::size_t k = 0; k < output.values.size(); ++k) {
        EXPECT_NEAR(output.values[k], expected[k % 10], 1e-5F);
      }
    }
  }
  static LoadOptions batching(std::int32_t isolation = SLUICE_ISOLATION_DEFAULT) {
    return {.path = digits_package(),
            .isolation = isolation,
            .function = FunctionOptions{.batch_rows = 16}};
  }
};

INSTANTIATE_TEST_SUITE_P(Places, JoinedRequests,
                         ::testing::Values(Place::kLocal, Place::kRing, Place::kGrpc));

TEST_P(JoinedRequests, EachGetsItsRows) { ask_many(load(batching())); }

TEST_P(JoinedRequests, BatchRowsOutOfRangeAreRefused) {
  auto options = batching();
  options.function->batch_rows = -1;
  EXPECT_THAT(runtime_.load(options).error().message, HasSubstr("batch_rows"));
}

class JoinedInDaemon : public JoinedRequests {};

INSTANTIATE_TEST_SUITE_P(Places, JoinedInDaemon, ::testing::Values(Place::kRing, Place::kGrpc));

TEST_P(JoinedInDaemon, FunctionsCountJoinedRequests) {
  const auto function = load(batching());
  for (int i = 0; i < 100 && daemon_->sum_of("functions", "num_joined") == 0; ++i)
    ask_many(function);
  EXPECT_GT(daemon_->sum_of("functions", "num_joined"), 0);
}

TEST_P(JoinedInDaemon, CellsJoinRequestsToo) {
  const auto function = load(batching(SLUICE_ISOLATION_PROCESS));
  for (int i = 0; i < 100 && daemon_->sum_of("functions", "num_joined") == 0; ++i)
    ask_many(function);
  EXPECT_GT(daemon_->sum_of("functions", "num_joined"), 0);
}

}  // namespace
}  // namespace sluice::testing
