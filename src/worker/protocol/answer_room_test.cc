#include "worker/protocol/answer_room.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sluice::worker {
namespace {

/// Memory as an arena gives it.
std::span<std::byte> room_of(std::vector<std::byte>& bytes, std::int64_t size_bytes) {
  bytes.resize(static_cast<std::size_t>(size_bytes));
  return bytes;
}

terms::Signature signature_of(const std::vector<std::string_view>& outputs) {
  terms::Signature signature;
  for (const std::string_view type : outputs) {
    signature.outputs.push_back({std::string(type), ir::parse_type(type).value()});
  }
  return signature;
}

TEST(AnswerRoom, HasAllOutputsOfKnownSizeBehindItsTableWithoutOverlap) {
  const auto signature = signature_of({"f32[3]", "u8[]", "i64[1000]", "f32[0]"});
  std::vector<std::byte> bytes;
  const auto room = room_of(bytes, first_room_bytes(signature));
  const auto outputs = outputs_in(room, signature);
  ASSERT_EQ(outputs.size(), 4U);
  std::int64_t end = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::int64_t offset = static_cast<const std::byte*>(outputs[i].data) - room.data();
    EXPECT_GE(offset, i == 0 ? 4096 : end) << i;
    EXPECT_EQ(offset % 64, 0);
    EXPECT_EQ(outputs[i].capacity_bytes, ir::storage_bytes(signature.outputs[i].type));
    end = offset + outputs[i].capacity_bytes;
    EXPECT_LE(end, static_cast<std::int64_t>(room.size()));
  }
}

TEST(AnswerRoom, LeavesOutputsOfUnknownSizeAndThoseWithoutRoomToTheRuntime) {
  const auto signature = signature_of({"f32[N]", "string[2]", "f32[100000]", "f32[4]"});
  std::vector<std::byte> bytes;
  const auto room = room_of(bytes, 16 << 10);
  const auto outputs = outputs_in(room, signature);
  ASSERT_EQ(outputs.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(outputs[i].data, nullptr) << i;
  EXPECT_NE(outputs[3].data, nullptr);
  EXPECT_EQ(outputs_in(room.first(100), signature)[3].data, nullptr);
}

TEST(AnswerRoom, GuessesUnknownSizesAndBoundsAbsurdOnes) {
  EXPECT_GE(first_room_bytes(signature_of({"f32[N]"})), 64 << 10);
  EXPECT_LE(first_room_bytes(signature_of({"f32[1000000000000]"})), std::int64_t{2} << 30);
}

}  // namespace
}  // namespace sluice::worker
