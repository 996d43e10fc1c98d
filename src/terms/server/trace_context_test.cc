#include "terms/server/trace_context.h"

#include <gtest/gtest.h>

namespace sluice::terms {
namespace {

constexpr std::string_view kExample = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(Traceparent, ReadsAndWritesTheStandardsExample) {
  const auto context = parse_traceparent(kExample);
  ASSERT_TRUE(context.has_value());
  EXPECT_TRUE(context->is_sampled);
  EXPECT_EQ(to_hex(context->trace), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(to_hex(context->span), "00f067aa0ba902b7");
  EXPECT_EQ(to_traceparent(*context), kExample);
}

TEST(Traceparent, TakesFieldsThatALaterVersionAdds) {
  std::string text(kExample);
  text[1] = '1';
  EXPECT_TRUE(parse_traceparent(text));
  EXPECT_TRUE(parse_traceparent(text + "-more"));
  EXPECT_FALSE(parse_traceparent(text + "more"));
  EXPECT_FALSE(parse_traceparent(std::string(kExample) + "-more"));
}

TEST(Traceparent, RefusesWhatTheStandardForbids) {
  EXPECT_FALSE(parse_traceparent(""));
  EXPECT_FALSE(parse_traceparent(kExample.substr(1)));
  for (const std::string_view bad : {"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                     "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                                     "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                                     "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                                     "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                     "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g"}) {
    EXPECT_FALSE(parse_traceparent(bad)) << bad;
  }
}

}  // namespace
}  // namespace sluice::terms
