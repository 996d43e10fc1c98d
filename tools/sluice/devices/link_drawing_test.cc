#include "sluice/devices/link_drawing.h"

#include <gtest/gtest.h>

namespace sluice::tool {
namespace {

using terms::DeviceId;
using topology::DeviceMap;

DeviceMap make(const std::vector<std::string>& kinds,
               const std::vector<std::tuple<int, int, std::string>>& links) {
  DeviceMap map;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    map.devices.push_back({.id = DeviceId(i), .kind = kinds[i]});
  }
  for (const auto& [a, b, kind] : links) map.links.push_back({DeviceId(a), DeviceId(b), kind});
  return map;
}

TEST(LinkDrawing, ChainIsARow) {
  EXPECT_EQ(draw_links(make({"sim", "sim", "sim"}, {{0, 1, "sim"}, {1, 2, "sim"}})),
            "sim  0 --- 1 --- 2  sim\n");
}

TEST(LinkDrawing, RingIsClosedBelow) {
  DeviceMap map =
      make({"gpu", "gpu", "gpu"}, {{0, 1, "nvlink"}, {1, 2, "nvlink"}, {0, 2, "nvlink"}});
  for (auto& link : map.links) link.bandwidth_bytes_per_second = 25'000'000'000;
  EXPECT_EQ(draw_links(map),
            "gpu  0 --- 1 --- 2  nvlink, 25.0 GB/s\n"
            "     +-----------+\n");
}

TEST(LinkDrawing, WideNumbersKeepTheirColumns) {
  std::vector<std::string> kinds(12, "sim");
  DeviceMap map = make(kinds, {{9, 10, "x"}, {10, 11, "x"}, {9, 11, "x"}});
  EXPECT_TRUE(
      draw_links(map).ends_with("sim  9 --- 10 --- 11  x\n"
                                "     +------------+\n"));
}

TEST(LinkDrawing, LinksBetweenRowsAreListedByKind) {
  EXPECT_EQ(draw_links(make({"cpu", "cpu", "gpu", "gpu"},
                            {{0, 1, "numa"}, {0, 2, "pcie"}, {1, 3, "pcie"}})),
            "cpu  0 --- 1  numa\n"
            "gpu  2\n"
            "gpu  3\n"
            "pcie: 0 - 2, 1 - 3\n");
}

TEST(LinkDrawing, FullMeshIsNotDrawnLinkByLink) {
  EXPECT_EQ(draw_links(make(
                {"gpu", "gpu", "gpu", "gpu"},
                {{0, 1, "s"}, {0, 2, "s"}, {0, 3, "s"}, {1, 2, "s"}, {1, 3, "s"}, {2, 3, "s"}})),
            "gpu  0 --- 1 --- 2 --- 3  s; each linked with every other\n");
}

TEST(LinkDrawing, NothingIsDrawnOfNothing) { EXPECT_EQ(draw_links({}), ""); }

}  // namespace
}  // namespace sluice::tool
