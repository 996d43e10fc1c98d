#include "telemetry/traffic_file.h"

#include <gtest/gtest.h>

namespace sluice::telemetry {
namespace {

RecordedRequest request(std::int64_t arrival_ns) {
  return {
      arrival_ns, -3, "m", {{"x", 1, {2, 1}, std::string("\0\1\2\3\4\5\6\7", 8)}, {"", 7, {}, ""}}};
}

TEST(TrafficFile, GivesRequestsBackAsTheyWere) {
  const auto read = parse_traffic(std::string(kTrafficMagic) + to_bytes(request(0)) +
                                  to_bytes(request(12'345'678'901)));
  ASSERT_TRUE(read.is_ok());
  ASSERT_EQ(read->size(), 2U);
  const RecordedRequest& second = read->back();
  EXPECT_EQ(second.arrival_ns, 12'345'678'901);
  EXPECT_EQ(second.priority, -3);
  EXPECT_EQ(second.model, "m");
  ASSERT_EQ(second.inputs.size(), 2U);
  EXPECT_EQ(second.inputs[0].dims, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(second.inputs[0].bytes.size(), 8U);
  EXPECT_EQ(second.inputs[0].bytes[7], 7);
  EXPECT_EQ(second.inputs[1].element_type, 7);
}

TEST(TrafficFile, EndsBeforeARequestThatACrashCutOff) {
  const std::string whole =
      std::string(kTrafficMagic) + to_bytes(request(0)) + to_bytes(request(1));
  for (std::size_t cut = 1; cut < to_bytes(request(1)).size(); ++cut) {
    const auto read = parse_traffic(std::string_view(whole).substr(0, whole.size() - cut));
    ASSERT_TRUE(read.is_ok()) << cut;
    EXPECT_EQ(read->size(), 1U) << cut;
  }
}

TEST(TrafficFile, RefusesAnotherFileAndADamagedRequest) {
  EXPECT_FALSE(parse_traffic("{\"models\":[]}").is_ok());
  std::string damaged = std::string(kTrafficMagic) + to_bytes(request(0));
  damaged[kTrafficMagic.size() + 4 + 8 + 4 + 3] = '\x7f';  // the length of the model's name
  EXPECT_FALSE(parse_traffic(damaged).is_ok());
}

}  // namespace
}  // namespace sluice::telemetry
