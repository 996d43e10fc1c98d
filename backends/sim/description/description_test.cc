#include "description/description.h"

#include <gtest/gtest.h>

namespace sluice::sim {
namespace {

Description parsed(std::string_view text) {
  Description description;
  const Status status = parse_description(text, &description);
  EXPECT_TRUE(status.is_ok()) << status.text;
  return description;
}

std::string refusal(std::string_view text) {
  Description description;
  const Status status = parse_description(text, &description);
  EXPECT_NE(status.code, SLUICE_OK) << text;
  return status.text;
}

TEST(SimDescription, EmptyIsOneDeviceOfFourCores) {
  const Description description = parsed("{}");
  ASSERT_EQ(description.devices.size(), 1U);
  EXPECT_EQ(description.devices[0].cores, 4);
  EXPECT_EQ(description.devices[0].name, "simulated");
  EXPECT_TRUE(description.links.empty());
}

TEST(SimDescription, CountMakesDevicesWithTheirIndexInTheirNames) {
  const Description description =
      parsed(R"({"devices": [{"name": "a{}"}, {"count": 2, "name": "b{}", "memory_bytes": 1e9}]})");
  ASSERT_EQ(description.devices.size(), 3U);
  EXPECT_EQ(description.devices[0].name, "a0");
  EXPECT_EQ(description.devices[2].name, "b2");
  EXPECT_EQ(description.devices[2].memory_bytes, 1'000'000'000);
}

TEST(SimDescription, ReadsEveryKeyOfADevice) {
  const Description description = parsed(R"({"seed": 5, "max_log_bytes": 7,
      "jitter": {"distribution": "normal", "spread": 0.25},
      "devices": [{"bus_address": "x", "cores": 2, "own_memory": false,
        "exclusive_cores": true, "compute": {"operator_ns": {"Conv": 9}, "kernel_ns": 8, "flops_per_s": 1e3,
                    "bytes_per_s": 2e3, "launch_ns": 3, "switch_ns": 4},
        "copy": {"to_device": {"engines": 2}, "to_host": {"latency_ns": 6},
                 "within": {"bytes_per_s": 10}}}]})");
  EXPECT_EQ(description.seed, 5U);
  EXPECT_EQ(description.max_log_bytes, 7);
  EXPECT_EQ(description.jitter.kind, JitterKind::kNormal);
  EXPECT_EQ(description.jitter.spread, 0.25);
  const Device& device = description.devices[0];
  EXPECT_EQ(device.bus_address, "x");
  EXPECT_EQ(device.cores, 2);
  EXPECT_FALSE(device.own_memory);
  EXPECT_TRUE(device.exclusive_cores);
  EXPECT_EQ(device.compute.operator_ns.at("Conv"), 9);
  EXPECT_EQ(device.compute.kernel_ns, 8);
  EXPECT_EQ(device.compute.flops_per_s, 1e3);
  EXPECT_EQ(device.compute.bytes_per_s, 2e3);
  EXPECT_EQ(device.compute.launch_ns, 3);
  EXPECT_EQ(device.compute.switch_ns, 4);
  EXPECT_EQ(device.to_device.engines, 2);
  EXPECT_EQ(device.to_host.latency_ns, 6);
  EXPECT_EQ(device.within.bytes_per_s, 10);
}

TEST(SimDescription, RefusesUnknownKeysWithTheirPath) {
  EXPECT_EQ(refusal(R"({"device": []})").substr(0, 20), "device: no such key;");
  EXPECT_EQ(refusal(R"({"devices": [{}, {"compute": {"kernel": 1}}]})"),
            "devices[1].compute.kernel: no such key; there are: kernel_ns, flops_per_s, "
            "bytes_per_s, launch_ns, switch_ns, operator_ns");
}

TEST(SimDescription, RefusesWrongTypesAndRanges) {
  EXPECT_EQ(refusal("[]"), "the description: must be an object");
  EXPECT_EQ(refusal(R"({"devices": {}})"), "devices: must be an array");
  EXPECT_EQ(refusal(R"({"devices": []})"), "devices: there must be at least one");
  EXPECT_EQ(refusal(R"({"devices": [1]})"), "devices[0]: must be an object");
  EXPECT_EQ(refusal(R"({"devices": [{"cores": 0}]})"),
            "devices[0].cores: 0 is out of range, 1 to 4096");
  EXPECT_EQ(refusal(R"({"devices": [{"cores": 1.5}]})"),
            "devices[0].cores: 1.5 is no whole number");
  EXPECT_EQ(refusal(R"({"devices": [{"cores": "two"}]})"),
            "devices[0].cores: must be a whole number");
  EXPECT_EQ(refusal(R"({"devices": [{"name": 3}]})"), "devices[0].name: must be a text");
  EXPECT_EQ(refusal(R"({"devices": [{"own_memory": 1}]})"),
            "devices[0].own_memory: must be true or false");
  EXPECT_EQ(refusal(R"({"devices": [{"own_memory": false, "host_memory": false}]})"),
            "devices[0].host_memory: a device without own_memory needs it");
  EXPECT_EQ(refusal(R"({"devices": [{"memory_bytes": -1}]})").substr(0, 42),
            "devices[0].memory_bytes: -1 is out of rang");
  EXPECT_EQ(refusal(R"({"devices": [{"count": 1000}, {"count": 1000}]})"),
            "devices[1]: there are more than 1024");
  EXPECT_EQ(refusal(R"({"seed": 18446744073709551615})").substr(0, 4), "seed");
  EXPECT_EQ(refusal(R"({"jitter": {"spread": 1}})"), "jitter.distribution: is missing");
}

TEST(SimDescription, RefusesImpossibleLinks) {
  EXPECT_EQ(refusal(R"({"links": [{"a": 0, "b": 1}]})"), "links[0].b: 1 is out of range, 0 to 0");
  EXPECT_EQ(refusal(R"({"devices": [{"count": 2}], "links": [{"a": 1, "b": 1}]})"),
            "links[0].b: a device is linked to itself");
  EXPECT_EQ(refusal(R"({"devices": [{"count": 2}],
                        "links": [{"a": 1, "b": 0}, {"a": 0, "b": 1}]})"),
            "links[1]: these two devices are linked already");
}

TEST(SimDescription, RefusesMalformedJson) {
  EXPECT_EQ(refusal(""), "no JSON: wrong near byte 1 of 0");
  EXPECT_EQ(refusal(R"({"seed": 1)"), "no JSON: wrong near byte 11 of 10");
  EXPECT_EQ(refusal(R"({"seed": 1e999})"), "no JSON: a number is too large");
  EXPECT_EQ(refusal(R"({"seed": 1, "seed": 2})"), "the key \"seed\" stands twice");
  EXPECT_EQ(refusal(std::string(100000, '[')), "nested more than 32 deep");
  EXPECT_EQ(refusal("{\"seed\": \"\xff\"}").substr(0, 8), "no JSON:");
}

TEST(SimDescription, LeavesTheTargetAloneWhenItRefuses) {
  Description description;
  description.seed = 99;
  EXPECT_FALSE(parse_description(R"({"seed": 3, "x": 0})", &description).is_ok());
  EXPECT_EQ(description.seed, 99U);
}

}  // namespace
}  // namespace sluice::sim
