// Submitted requests take the ring of their session where it carries them, and the stream where
// not.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "daemon_process.h"
#include "two_places.h"

namespace sluice::testing {
namespace {

class RingSubmit : public ::testing::Test {
 protected:
  Runtime connect(const ConnectOptions& options = {}) const {
    auto runtime = Runtime::connect(daemon_.address(), options);
    EXPECT_TRUE(runtime) << runtime.error().message << daemon_.output();
    return std::move(*runtime);
  }
  static LoadedModel load(Runtime& runtime, int depth = 0) {
    auto model = runtime.load({.path = digits_package(), .depth = depth});
    EXPECT_TRUE(model) << model.error().message;
    return std::move(*model);
  }

  /// Requests that rings have brought to the daemon, as `sluice sessions` counts them.
  std::int64_t num_ring_requests() const { return daemon_.sum_of("sessions", "num_ring_requests"); }

  const TempDir folder_;
  DaemonProcess daemon_{folder_};
};

TEST_F(RingSubmit, RequestsTakeTheRing) {
  auto runtime = connect();
  const auto model = load(runtime);
  std::vector<Request> requests;
  for (std::int64_t n = 1; n <= 20; ++n) requests.push_back(std::move(*model.submit(image(n))));
  for (std::int64_t n = 1; n <= 20; ++n) {
    const auto reply = requests[static_cast<std::size_t>(n - 1)].wait();
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->output<float>()->dims, (std::vector<std::int64_t>{n, 10}));
  }
  EXPECT_EQ(num_ring_requests(), 20);
}

TEST_F(RingSubmit, RequestsOfAFunctionTakeTheRing) {
  auto runtime = connect();
  auto function = runtime.load({.path = digits_package(), .function = FunctionOptions()});
  ASSERT_TRUE(function) << function.error().message;
  EXPECT_TRUE(function->submit(image())->wait());
  EXPECT_EQ(num_ring_requests(), 1);
}

TEST_F(RingSubmit, WhatTheRingDoesNotCarryTakesTheStream) {
  auto runtime = connect();
  const auto model = load(runtime);
  constexpr std::int64_t kLarge = 300;  // 77 kB of images, more than an entry of the ring
  const std::vector<float> pixels(kLarge * 64, 0.5F);
  const auto large = {tensor<float>("image", std::span(pixels), {kLarge, 1, 8, 8})};
  const auto reply = model.submit(large)->wait();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->output<float>()->dims[0], kLarge);
  const auto detailed = model.submit(image(), {.wants_detail = true})->wait();
  ASSERT_TRUE(detailed) << detailed.error().message;
  EXPECT_NE(detailed->detail(), nullptr);
  EXPECT_EQ(num_ring_requests(), 0);
  EXPECT_TRUE(model.submit(image())->wait()) << "the ring, again";
  EXPECT_EQ(num_ring_requests(), 1);
}

TEST_F(RingSubmit, RepliesThatAreKeptFillTheRingAndTheStreamGoesOn) {
  auto runtime = connect();
  const auto model = load(runtime);
  std::vector<Reply> replies;
  for (int i = 0; i < 300; ++i) {
    auto reply = model.submit(image())->wait();
    ASSERT_TRUE(reply) << reply.error().message;
    replies.push_back(std::move(*reply));
  }
  EXPECT_EQ(num_ring_requests(), 256) << "as many as the ring has entries";
  const auto first = replies.front().output<float>()->values;
  EXPECT_TRUE(std::ranges::equal(first, replies.back().output<float>()->values));
  replies.clear();
  EXPECT_TRUE(model.submit(image())->wait());
  EXPECT_EQ(num_ring_requests(), 257);
}

TEST_F(RingSubmit, BothWaysAnswerEachRequestOnce) {
  auto runtime = connect();
  const auto model = load(runtime, 1);
  std::vector<Request> requests;
  for (std::int64_t i = 0; i < 200; ++i) {
    auto request = model.submit(image(1 + i % 7), {.wants_detail = i % 10 == 9});
    ASSERT_TRUE(request) << request.error().message;
    requests.push_back(std::move(*request));
    if (i % 64 == 63) {
      EXPECT_FALSE(requests.back().cancel());
    }
    if (i < 32) continue;
    (void)requests[static_cast<std::size_t>(i - 32)].wait();
  }
  EXPECT_GT(num_ring_requests(), 0);
  EXPECT_FALSE(runtime.close());
}

TEST_F(RingSubmit, WithoutARingTheStreamCarriesAll) {
  auto no_ring = connect({.transport = SLUICE_TRANSPORT_GRPC});
  EXPECT_TRUE(load(no_ring).submit(image())->wait());
  auto no_session = connect({.is_detached = true});
  auto model = load(no_session);
  EXPECT_TRUE(model.submit(image())->wait());
  EXPECT_FALSE(model.unload());
  EXPECT_EQ(num_ring_requests(), 0);
}

}  // namespace
}  // namespace sluice::testing
