#include "rpc/server/session/fields.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace sluice::rpc::server {
namespace {

TEST(CallFields, TimeoutHasAUnit) {
  EXPECT_EQ(parse_timeout("2H"), 7'200'000'000'000);
  EXPECT_EQ(parse_timeout("3M"), 180'000'000'000);
  EXPECT_EQ(parse_timeout("4S"), 4'000'000'000);
  EXPECT_EQ(parse_timeout("250m"), 250'000'000);
  EXPECT_EQ(parse_timeout("7u"), 7'000);
  EXPECT_EQ(parse_timeout("99999999n"), 99'999'999);
  EXPECT_EQ(parse_timeout("99999999H"), kNoDeadline) << "longer than can be counted";
}

TEST(CallFields, OtherTimesAreNone) {
  for (const char* text : {"", "S", "1", "1s", "-1S", "1.5S", "123456789S", " 1S", "1 S"}) {
    EXPECT_EQ(parse_timeout(text), std::nullopt) << text;
  }
}

TEST(CallFields, MessageIsPrintedAscii) {
  EXPECT_EQ(percent_encoded("no model \"m\""), "no model \"m\"");
  EXPECT_EQ(percent_encoded("100 %\n\xC3\xA4\x7F"), "100 %25%0A%C3%A4%7F");
}

TEST(CallFields, BinaryFieldsAreBase64WithoutPadding) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg");
  EXPECT_EQ(base64("fo"), "Zm8");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xFB\xFF\xFE"), "+//+");
  EXPECT_TRUE(is_binary("grpc-status-details-bin"));
  EXPECT_FALSE(is_binary("grpc-message"));
}

}  // namespace
}  // namespace sluice::rpc::server
