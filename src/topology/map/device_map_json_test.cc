#include "topology/map/device_map_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "support/paths.h"
#include "topology/testing/topology_testing.h"

namespace sluice::topology {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

DeviceMap full_map() {
  DeviceMap map = testing::make_ring(3, 2);
  terms::Device& device = map.devices[0];
  device.kind = "cpu";
  device.backend.clear();
  device.backend_index = -1;
  device.numa_node = 1;
  device.memory_bytes = std::int64_t{1} << 40;
  device.cpus = {{0, 2}, {1, 3}};
  device.caches = {{"L2", 1 << 20, 2}};
  device.features = {"avx512", "bf16"};
  map.links[0].bandwidth_bytes_per_second = 25'000'000'000;
  map.links[0].latency_ns = 900;
  map.sources = {{"hwloc", 1, ""}, {"nvml", 0, "no \"library\""}};
  return map;
}

/// `text` with the first `before` replaced by `after`.
std::string replaced(std::string text, std::string_view before, std::string_view after) {
  const auto place = text.find(before);
  EXPECT_NE(place, std::string::npos) << before;
  return text.replace(place, before.size(), after);
}

std::string refusal(const std::string& text) {
  const auto map = parse_device_map(text);
  EXPECT_FALSE(map.is_ok());
  return map.status().message();
}

TEST(DeviceMapJson, RoundTripKeepsTheMap) {
  const auto map = parse_device_map(print_device_map(full_map()));
  ASSERT_TRUE(map.is_ok()) << map.status().to_string();
  EXPECT_EQ(*map, full_map());
}

TEST(DeviceMapJson, EmptyMapIsReadBack) {
  const auto map = parse_device_map(print_device_map({}));
  ASSERT_TRUE(map.is_ok());
  EXPECT_EQ(*map, DeviceMap());
}

TEST(DeviceMapJson, AnotherMajorVersionIsRefusedAndALaterMinorRead) {
  const std::string text = print_device_map(full_map());
  const auto other = parse_device_map(replaced(text, "\"major\": 1", "\"major\": 2"));
  EXPECT_EQ(other.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(other.status().message(), HasSubstr("sluice discover"));
  EXPECT_TRUE(parse_device_map(replaced(text, "\"minor\": 0", "\"minor\": 7")).is_ok());
}

TEST(DeviceMapJson, UnknownFieldsAreIgnored) {
  const std::string text = print_device_map(full_map());
  EXPECT_TRUE(parse_device_map(replaced(text, "\"kind\"", "\"colour\": {}, \"kind\"")).is_ok());
}

TEST(DeviceMapJson, MessagesNameThePlace) {
  const std::string text = print_device_map(full_map());
  EXPECT_EQ(refusal(replaced(text, "\"id\": 1", "\"id\": \"one\"")),
            "devices[1].id: expected a whole number, found a string");
  EXPECT_EQ(refusal(replaced(text, "\"id\": 1", "\"id\": 5")),
            "devices[1].id: ids count up from 0 in the order of the list");
  EXPECT_EQ(refusal(replaced(text, "\"num_cores\": 2", "\"number\": 2")),
            "devices[0].num_cores: missing");
  EXPECT_EQ(refusal(replaced(text, "\"count\": 2", "\"count\": 2.5")),
            "devices[0].caches[0].count: expected a whole number, found a number");
  EXPECT_EQ(refusal(replaced(text, "\"to\": 2", "\"to\": 3")),
            "links[1].to: no device 3; the map has 3");
  EXPECT_EQ(refusal(replaced(text, "\"to\": 1", "\"to\": 0")),
            "links[0]: joins device 0 with itself");
  EXPECT_EQ(refusal(replaced(text, "\"avx512\"", "512")),
            "devices[0].features[0]: expected a text, found a number");
}

TEST(DeviceMapJson, NumbersOutOfRangeAreRefused) {
  const std::string text = print_device_map(full_map());
  for (const char* number : {"-1", "99999999999", "18446744073709551615", "1e3"}) {
    EXPECT_THAT(
        refusal(replaced(text, "\"num_cores\": 2", std::string("\"num_cores\": ") + number)),
        HasSubstr("devices[0].num_cores"));
  }
}

TEST(DeviceMapJson, ContradictionsAreRefused) {
  const std::string text = print_device_map(full_map());
  EXPECT_THAT(refusal(replaced(text, "\"num_cores\": 2", "\"num_cores\": 3")),
              HasSubstr("devices[0].cpus: 2 cores, but num_cores is 3"));
  EXPECT_THAT(refusal(replaced(text, "\"from\": 1", "\"from\": 0")),
              ::testing::AnyOf(HasSubstr("linked already"), HasSubstr("with itself")));
  EXPECT_THAT(refusal(replaced(text, "          3\n", "          0\n")),
              HasSubstr("processor 0 is in another core already"));
}

TEST(DeviceMapJson, MalformedMapsAreRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("{\"format\": "), HasSubstr("line 1, column"));
  EXPECT_THAT(refusal("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(refusal("{\"format\": \"a cake\"}"), HasSubstr("another sort of file"));
  EXPECT_THAT(refusal(std::string(100000, '[')), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("\"\xff\""), HasSubstr("not JSON"));
}

TEST(DeviceMapJson, ManyDevicesAreRefusedBeforeTheyAreRead) {
  std::string text = R"({"format": "sluice device map", "version": {"major": 1, "minor": 0},)";
  text += "\"devices\": [0";
  for (int i = 0; i < 2000; ++i) text += ",0";
  EXPECT_THAT(refusal(text + "]}"), HasSubstr("devices: a list of 2001; at most 1024"));
}

TEST(DeviceMapJson, FileIsReplacedWholeAndReadBack) {
  const sluice::testing::TempDir folder;
  const fs::path path = folder / "map.json";
  ASSERT_TRUE(write_device_map(path, {}).is_ok());
  ASSERT_TRUE(write_device_map(path, full_map()).is_ok());
  const auto map = read_device_map(path);
  ASSERT_TRUE(map.is_ok()) << map.status().to_string();
  EXPECT_EQ(*map, full_map());
  // Nothing is left beside it.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(DeviceMapJson, FileThatCannotBeWrittenLeavesTheOldOne) {
  const sluice::testing::TempDir folder;
  EXPECT_EQ(write_device_map(folder / "no such" / "map.json", full_map()).code(), Code::kNotFound);
  EXPECT_EQ(read_device_map(folder / "missing.json").status().code(), Code::kNotFound);
}

TEST(DeviceMapJson, FilesErrorsNameTheFile) {
  const sluice::testing::TempDir folder;
  const std::string text = "{}";
  ASSERT_TRUE(write_file_atomically(folder / "map.json", std::as_bytes(std::span(text))).is_ok());
  const Status status = read_device_map(folder / "map.json").status();
  EXPECT_THAT(status.message(), HasSubstr("map.json"));
  EXPECT_THAT(status.message(), HasSubstr("format: missing"));
}

}  // namespace
}  // namespace sluice::topology
