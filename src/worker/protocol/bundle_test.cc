#include "worker/protocol/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

namespace sluice::worker {
namespace {

using ::testing::ElementsAre;

/// Memory as an arena gives it.
struct alignas(64) Room {
  std::array<std::byte, 4096> bytes = {};
};

Bundle example(std::vector<float>& x, std::vector<std::int64_t>& y) {
  x = {1, 2, 3, 4, 5, 6};
  y = {7};
  Bundle bundle;
  bundle.numbers = {1, -2, 3, 4, 5, 6, 7, 8};
  bundle.text = "cpu,sim";
  bundle.errors = {{6, "lost"}, {1003, ""}};
  bundle.tensors = {{x.data(), 24, ir::ElementType::kF32, {2, 3}},
                    {y.data(), 8, ir::ElementType::kI64, {}}};
  return bundle;
}

TEST(Bundle, RoundTripKeepsTensors) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  const Bundle bundle = example(x, y);
  Room room;
  const auto size = static_cast<std::size_t>(bundle_bytes(bundle));
  ASSERT_LE(size, room.bytes.size());
  write_bundle(bundle, std::span(room.bytes).first(size));
  const auto read = read_bundle(std::span(room.bytes).first(size));
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_THAT(read->numbers, ElementsAre(1, -2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(read->text, "cpu,sim");
  ASSERT_EQ(read->errors.size(), 2U);
  EXPECT_EQ(read->errors[0].message, "lost");
  EXPECT_EQ(read->errors[1].runtime_code, 1003);
  ASSERT_EQ(read->tensors.size(), 2U);
  EXPECT_THAT(read->tensors[0].dims, ElementsAre(2, 3));
  EXPECT_EQ(std::memcmp(read->tensors[0].data, x.data(), 24), 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read->tensors[1].data) % 64, 0U);
  EXPECT_EQ(std::memcmp(read->tensors[1].data, y.data(), 8), 0);
}

TEST(Bundle, TensorsThatLieInTheRoomAreNotCopied) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  Bundle bundle = example(x, y);
  Room room;
  std::byte* const there = room.bytes.data() + 1024;
  std::memcpy(there, x.data(), 24);
  bundle.tensors[0].data = there;
  const auto size = static_cast<std::size_t>(bundle_bytes(bundle, room.bytes));
  EXPECT_EQ(size, 1024U + 64 + 64);
  write_bundle(bundle, room.bytes);
  const auto read = read_bundle(std::span(room.bytes).first(size));
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_EQ(read->tensors[0].data, there);
  EXPECT_EQ(std::memcmp(there, x.data(), 24), 0);
  EXPECT_EQ(read->tensors[1].data, there + 64) << "behind those that were there";
  EXPECT_EQ(std::memcmp(read->tensors[1].data, y.data(), 8), 0);
}

TEST(Bundle, TableThatReachesATensorInTheRoomDoesNotFit) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  Bundle bundle = example(x, y);
  Room room;
  bundle.tensors[0].data = room.bytes.data() + 256;
  EXPECT_LE(bundle_bytes(bundle, room.bytes), 512);
  bundle.text = std::string(100, 'x');
  EXPECT_GT(bundle_bytes(bundle, room.bytes), std::int64_t{sizeof(room.bytes)});
}

TEST(Bundle, TruncatedBytesAreRefused) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  const Bundle bundle = example(x, y);
  Room room;
  write_bundle(bundle, room.bytes);
  const auto needed = static_cast<std::size_t>(bundle_bytes(bundle)) - 64;
  for (std::size_t size = 0; size < needed; ++size) {
    EXPECT_FALSE(read_bundle(std::span(room.bytes).first(size)).is_ok()) << size;
  }
}

/// Whatever the other side wrote, tensors lie inside and have as many bytes as their shape says.
TEST(Bundle, HostileBytesGiveAnErrorOrValidTensors) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  const Bundle bundle = example(x, y);
  const auto size = static_cast<std::size_t>(bundle_bytes(bundle));
  std::mt19937 random(1);
  int num_read = 0;
  for (int i = 0; i < 200'000; ++i) {
    Room room;
    write_bundle(bundle, room.bytes);
    for (int change = static_cast<int>(random() % 4); change >= 0; --change) {
      room.bytes[random() % size] = static_cast<std::byte>(random());
    }
    const auto read = read_bundle(std::span(room.bytes).first(size));
    if (!read.is_ok()) continue;
    ++num_read;
    for (const auto& tensor : read->tensors) {
      const auto* first = static_cast<const std::byte*>(tensor.data);
      ASSERT_GE(first, room.bytes.data());
      ASSERT_LE(first + tensor.size_bytes, room.bytes.data() + size);
    }
  }
  EXPECT_GT(num_read, 1000);
}

}  // namespace
}  // namespace sluice::worker
