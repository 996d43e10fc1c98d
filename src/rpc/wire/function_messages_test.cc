#include "rpc/wire/function_messages.h"

#include <gtest/gtest.h>

namespace sluice::rpc::wire {
namespace {

TEST(FunctionMessages, CarryOptionsAndCountersThereAndBack) {
  terms::FunctionState state;
  state.options = {
      .share = 7, .priority = -2, .memory_bytes = 1 << 20, .keep_warm_ns = 0, .batch_rows = 16};
  state.num_joined = 9;
  state.phase = terms::FunctionPhase::kWarm;
  state.held_bytes = 12;
  state.num_requests = 34;
  state.num_starts = 5;
  state.last_start_ns = 600;
  state.busy_ns = 7000;
  v1::FunctionState message;
  to_proto(state, message);
  const terms::FunctionState back = from_proto(message);
  EXPECT_EQ(back.options.share, 7);
  EXPECT_EQ(back.options.priority, -2);
  EXPECT_EQ(back.options.memory_bytes, 1 << 20);
  EXPECT_EQ(back.options.keep_warm_ns, 0);
  EXPECT_EQ(back.options.batch_rows, 16);
  EXPECT_EQ(back.num_joined, 9);
  EXPECT_EQ(back.phase, terms::FunctionPhase::kWarm);
  EXPECT_EQ(back.held_bytes, 12);
  EXPECT_EQ(back.num_requests, 34);
  EXPECT_EQ(back.num_starts, 5);
  EXPECT_EQ(back.last_start_ns, 600);
  EXPECT_EQ(back.busy_ns, 7000);
}

TEST(FunctionMessages, AbsentOptionsAreTheDefaults) {
  const auto options = from_proto(v1::FunctionOptions());
  ASSERT_TRUE(options.is_ok());
  EXPECT_EQ(options->share, 1);
  EXPECT_EQ(options->keep_warm_ns, terms::FunctionOptions().keep_warm_ns);
}

TEST(FunctionMessages, RefuseOptionsOutOfRange) {
  v1::FunctionOptions message;
  message.set_share(-1);
  EXPECT_FALSE(from_proto(message).is_ok());
  message.set_share(1001);
  EXPECT_FALSE(from_proto(message).is_ok());
  message.set_share(1000);
  message.set_keep_warm_ns(-1);
  EXPECT_FALSE(from_proto(message).is_ok());
  message.clear_keep_warm_ns();
  message.set_batch_rows(-1);
  EXPECT_FALSE(from_proto(message).is_ok());
  message.set_batch_rows(1 << 20);
  EXPECT_FALSE(from_proto(message).is_ok());
  message.clear_batch_rows();
  message.set_memory_bytes(-1);
  EXPECT_FALSE(from_proto(message).is_ok());
}

}  // namespace
}  // namespace sluice::rpc::wire
