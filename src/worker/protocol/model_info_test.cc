#include "worker/protocol/model_info.h"

#include <gtest/gtest.h>

namespace sluice::worker {
namespace {

using nlohmann::json;

TEST(WorkerModelInfo, RoundTripKeepsTheInfo) {
  terms::ModelInfo info;
  info.mode = terms::LoadMode::kShared;
  info.depth = 3;
  info.queue_limit = 5;
  info.num_slots = 4;
  info.shares_package = true;
  info.slots_bytes = 5;
  info.footprint = {6, 7, 8, false, 3};
  const auto back = info_of(info_json(1, info));
  EXPECT_EQ(back.mode, info.mode);
  EXPECT_EQ(back.depth, 3);
  EXPECT_EQ(back.queue_limit, 5);
  EXPECT_EQ(back.num_slots, 4U);
  EXPECT_TRUE(back.shares_package);
  EXPECT_EQ(back.slots_bytes, 5);
  EXPECT_EQ(back.footprint.total_bytes(), info.footprint.total_bytes());
  EXPECT_FALSE(back.footprint.is_context_known);
}

TEST(WorkerModelInfo, ImpossibleSizesAreRefused) {
  const std::int64_t large = std::int64_t{1} << 62;
  const auto info = info_of({{"constants_bytes", large},
                             {"packed_bytes", large},
                             {"context_bytes", large},
                             {"footprint_depth", 1024},
                             {"depth", -5}});
  EXPECT_EQ(info.footprint.total_bytes(), 0);
  EXPECT_EQ(info.depth, 1);
}

TEST(WorkerModelInfo, FieldsOfWrongTypeCountAsAbsent) {
  const auto info = info_of({{"depth", "three"}, {"is_shared_mode", 1}, {"slots_bytes", json()}});
  EXPECT_EQ(info.depth, 1);
  EXPECT_EQ(info.mode, terms::LoadMode::kNormal);
  EXPECT_EQ(info.slots_bytes, 0);
}

}  // namespace
}  // namespace sluice::worker
