#include "emulator/description_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cuda::emulator {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::string_view text) {
  Description description;
  return parse_description(text, &description).text;
}

TEST(DescriptionText, ReadsEverySetting) {
  Description description;
  ASSERT_EQ(parse_description(
                "devices=2,capability=12.1,multiprocessors=132,memory=1048576,seed=7,peers=no,"
                "instructions=5000,count=/a b",
                &description)
                .text,
            "");
  ASSERT_EQ(description.devices.size(), 2U);
  EXPECT_EQ(description.devices[1].major, 12);
  EXPECT_EQ(description.devices[1].minor, 1);
  EXPECT_EQ(description.devices[1].multiprocessors, 132);
  EXPECT_EQ(description.devices[1].memory_bytes, 1 << 20);
  EXPECT_EQ(description.seed, 7U);
  EXPECT_FALSE(description.has_peer_access);
  EXPECT_EQ(description.max_instructions, 5000U);
  EXPECT_EQ(description.count_file, "/a b");
}

TEST(DescriptionText, EveryKnownCapabilityIsRead) {
  for (const char* capability :
       {"7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "12.0", "12.1"}) {
    Description description;
    const std::string text = std::string("capability=") + capability;
    EXPECT_EQ(parse_description(text, &description).text, "");
    const DeviceDescription& device = description.devices.front();
    EXPECT_EQ(std::to_string(device.major) + "." + std::to_string(device.minor), capability);
  }
}

TEST(DescriptionText, EmptyTextIsTheUsualMachine) {
  Description description;
  EXPECT_TRUE(parse_description("", &description).is_ok());
  EXPECT_EQ(description.devices.size(), 1U);
}

TEST(DescriptionText, BadSettingIsNamedWithWhatItMayBe) {
  EXPECT_THAT(error_of("devices=0"), HasSubstr("devices=0: a number from 1 to 16"));
  EXPECT_THAT(error_of("devices=2x"), HasSubstr("devices=2x"));
  EXPECT_THAT(error_of("capability=7.0"), HasSubstr("7.5 to 12.1"));
  EXPECT_THAT(error_of("speed=1"), HasSubstr("\"speed=1\": one of devices"));
  EXPECT_THAT(error_of("seed=1,seed=2"), HasSubstr("seed is given twice"));
  EXPECT_THAT(error_of("memory=99999999999999999999"), HasSubstr("memory="));
  EXPECT_THAT(error_of("devices"), HasSubstr("with =VALUE"));
}

}  // namespace
}  // namespace sluice::cuda::emulator
