#include "azure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

using ::testing::HasSubstr;

std::string counts_header() {
  std::string line = "HashOwner,HashApp,HashFunction,Trigger";
  for (int i = 1; i <= 1440; ++i) line += "," + std::to_string(i);
  return line + "\n";
}

/// A row whose minute `minute` has `value`, others 0.
std::string counts_row(int minute, const std::string& value) {
  std::string line = "o,a,f,http";
  for (int i = 0; i < 1440; ++i) line += "," + (i == minute ? value : "0");
  return line + "\n";
}

TEST(Azure, CountsOf2019AreReadByFunctionAndMinute) {
  const auto rows = parse_azure_counts(counts_header() + counts_row(3, "7") + counts_row(3, "5"));
  ASSERT_TRUE(rows.is_ok()) << rows.status().to_string();
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ(rows->front().trigger, "http");
  EXPECT_EQ(rows->front().counts.size(), 1440U);
  EXPECT_EQ(minutes_of(*rows)[3], 12);
  EXPECT_EQ(minutes_of(*rows)[4], 0);
}

TEST(Azure, RowsOfAnotherFormAreRefusedWithTheirPlace) {
  const auto message = [](const std::string& text) {
    return parse_azure_counts(text).status().message();
  };
  EXPECT_THAT(message("HashApp,Trigger\n"), HasSubstr("line 1: the header"));
  EXPECT_THAT(message(""), HasSubstr("line 1"));
  EXPECT_THAT(message(counts_header() + "o,a,f,http,1,2\n"), HasSubstr("line 2: 6 fields"));
  EXPECT_THAT(message(counts_header() + counts_row(9, "x")),
              HasSubstr("line 2, column 14: \"x\" is no number"));
  EXPECT_THAT(message(counts_header() + counts_row(9, "-1")), HasSubstr("out of range"));
  EXPECT_THAT(message(counts_header() + counts_row(9, "1.5")), HasSubstr("no whole number"));
  EXPECT_THAT(message(counts_header() + counts_row(9, "1e300")), HasSubstr("out of range"));
  EXPECT_THAT(message(counts_header() + counts_row(9, "inf")), HasSubstr("no number"));
  EXPECT_THAT(message("HashOwner,HashApp,HashFunction,Trigger,1\no,a,f,http,1\n"),
              HasSubstr("1 columns of minutes, not 1440"));
}

TEST(Azure, DurationsOf2019AreReadInMilliseconds) {
  const std::string header =
      "HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,percentile_Average_0\n";
  const auto rows = parse_azure_durations(header + "o,a,f,12.5,3,10,20,10\r\n");
  ASSERT_TRUE(rows.is_ok()) << rows.status().to_string();
  EXPECT_EQ(rows->front().average_ms, 12.5);
  EXPECT_EQ(rows->front().count, 3);
  EXPECT_THAT(parse_azure_durations(header + "o,a,f,12,3,21,20,10\n").status().message(),
              HasSubstr("above the maximum"));
}

TEST(Azure, InvocationsOf2021AreSortedByTheirStart) {
  const std::string text =
      "app,func,end_timestamp,duration\n"
      "a,f,10.5,0.5\n"
      "a,g,12.0,9.0\n"
      "\n"
      "b,f,1.0,2.0\n";
  ASSERT_TRUE(is_azure_invocations(text));
  const auto rows = parse_azure_invocations(text);
  ASSERT_TRUE(rows.is_ok()) << rows.status().to_string();
  ASSERT_EQ(rows->size(), 3U);
  EXPECT_EQ((*rows)[0].app, "b");
  EXPECT_EQ((*rows)[0].start_s, 0) << "it began before the trace";
  EXPECT_EQ((*rows)[1].function, "g");
  EXPECT_EQ((*rows)[2].start_s, 10.0);
  EXPECT_FALSE(parse_azure_invocations("app,func,end_timestamp,duration\na,f,nan,1\n").is_ok());
}

}  // namespace
}  // namespace sluice::bench
