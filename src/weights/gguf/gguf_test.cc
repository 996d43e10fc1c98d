#include "weights/gguf/gguf.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace sluice::weights {
namespace {

/// A file, field by field.
class File {
 public:
  explicit File(std::uint64_t tensors = 0, std::uint64_t keys = 0, std::uint32_t version = 3) {
    bytes_ = "GGUF";
    add(version).add(tensors).add(keys);
  }

  template <typename T>
  File& add(T number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  File& text(const std::string& text) {
    add(std::uint64_t{text.size()});
    bytes_ += text;
    return *this;
  }
  File& tensor(const std::string& name, std::vector<std::int64_t> inner_first, std::uint32_t type,
               std::uint64_t offset) {
    text(name).add(static_cast<std::uint32_t>(inner_first.size()));
    for (const std::int64_t dim : inner_first) add(dim);
    return add(type).add(offset);
  }
  /// The tensors' bytes, from the next multiple of 32 on.
  File& data(const std::string& data) {
    bytes_.resize((bytes_.size() + 31) / 32 * 32);
    bytes_ += data;
    return *this;
  }

  Result<Gguf> read() const {
    return read_gguf(MutableBytes::copy_of(std::as_bytes(std::span(bytes_))).freeze());
  }
  std::string error() const {
    const auto gguf = read();
    return gguf.is_ok() ? "" : gguf.status().message();
  }

 private:
  std::string bytes_;
};

constexpr std::uint32_t kF32 = 0, kQ4_1 = 3, kQ8_0 = 8, kU32 = 4, kText = 8, kList = 9, kU8 = 0;

void expect_error(const File& file, std::string_view part) {
  EXPECT_NE(file.error().find(part), std::string::npos) << file.error();
}

template <typename T>
std::vector<T> numbers_of(const ir::Constant& constant) {
  std::vector<T> numbers(constant.data.size() / sizeof(T));
  std::memcpy(numbers.data(), constant.data.data(), constant.data.size());
  return numbers;
}

TEST(Gguf, KeepsTensorsWhereTheyLie) {
  File file(2, 1);
  file.text("general.name").add(kText).text("tiny");
  file.tensor("a", {2, 1}, kF32, 0).tensor("b", {1}, kF32, 32);
  std::string data(36, '\0');
  const float values[] = {1.5F, -2, 3};
  std::memcpy(data.data(), values, 8);
  std::memcpy(data.data() + 32, values + 2, 4);
  const auto gguf = file.data(data).read();
  ASSERT_TRUE(gguf.is_ok()) << gguf.status().message();
  EXPECT_EQ(gguf->metadata.at("general.name"), "tiny");
  EXPECT_EQ(gguf->weights.find("a")->type.to_string(), "f32[1,2]");
  EXPECT_EQ(numbers_of<float>(*gguf->weights.find("a")), (std::vector<float>{1.5F, -2}));
  EXPECT_EQ(numbers_of<float>(*gguf->weights.find("b")), std::vector<float>{3});
}

TEST(Gguf, TakesBlocksApart) {
  std::string row = {0x00, 0x38};  // 0.5 as f16
  for (int i = 0; i < 32; ++i) row += static_cast<char>(i - 16);
  const auto gguf = File(1).tensor("w", {32, 1}, kQ8_0, 0).data(row).read();
  ASSERT_TRUE(gguf.is_ok()) << gguf.status().message();
  const Blocks* blocks = gguf->weights.find_blocks("w");
  ASSERT_NE(blocks, nullptr);
  EXPECT_EQ(gguf->weights.find("w"), nullptr);
  EXPECT_EQ(blocks->numbers.type.to_string(), "i8[1,32]");
  EXPECT_EQ(numbers_of<std::int8_t>(blocks->numbers)[3], -13);
  EXPECT_EQ(numbers_of<float>(blocks->scales), std::vector<float>{0.5F});
  EXPECT_FALSE(blocks->zeros.has_value());
}

TEST(Gguf, MakesAConstantOfABlockWithoutAScale) {
  std::string row = {0x00, 0x00, 0x00, 0x3C};  // scale 0, least 1 as f16
  row += std::string(16, '\x5A');
  const auto gguf = File(1).tensor("w", {32, 1}, kQ4_1, 0).data(row).read();
  ASSERT_TRUE(gguf.is_ok()) << gguf.status().message();
  const Blocks& blocks = *gguf->weights.find_blocks("w");
  EXPECT_EQ(blocks.numbers.type.to_string(), "u4[1,32]");
  EXPECT_EQ(numbers_of<std::uint8_t>(blocks.numbers), std::vector<std::uint8_t>(16, 0));
  const float scale = numbers_of<float>(blocks.scales).at(0);
  EXPECT_EQ((0 - numbers_of<float>(*blocks.zeros).at(0)) * scale, 1);
}

TEST(Gguf, RefusesAnotherFormat) {
  expect_error(File(0, 0, 1), "version 1 is not supported");
  expect_error(File(0, 0, 0x03000000), "a big-endian file");
  EXPECT_EQ(read_gguf(Bytes()).status().code(), Code::kInvalidArgument);
}

TEST(Gguf, RefusesSizesBeyondTheFile) {
  constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
  expect_error(File(0, kHuge), "the file ends within its header");
  expect_error(File(kHuge, 0), "tensors; at most");
  expect_error(File(0, 1).add(kHuge), "the file ends within its header");
  expect_error(File(0, 1).text("k").add(kText).add(kHuge), "\"k\": the file ends");
  expect_error(File(0, 1).text("k").add(kList).add(kU8).add(kHuge), "\"k\": the file ends");
  expect_error(File(1).tensor("w", {1LL << 40, 1LL << 40}, kF32, 0), "are too many numbers");
  expect_error(File(1).tensor("w", {8}, kF32, 0).data("short"), "32 bytes from 0 on");
  expect_error(File(1).tensor("w", {8}, kF32, 64).data(std::string(64, 'x')), "from 64 on");
}

TEST(Gguf, RefusesValuesThatItCannotRead) {
  expect_error(File(0, 1).text("k").add(std::uint32_t{77}), "the type 77, which is not known");
  expect_error(File(0, 1).text("k").add(kList).add(kList).add(std::uint64_t{0}), "list of lists");
  expect_error(File(0, 1).text("k").add(kText).text("\xFF"), "is not UTF-8");
  File twice(0, 2);
  for (int i = 0; i < 2; ++i) twice.text("k").add(kU32).add(std::uint32_t{1});
  expect_error(twice, "the metadata have \"k\" twice");
  expect_error(File(0, 1).text("general.alignment").add(kU32).add(std::uint32_t{12}),
               "power of two");
}

TEST(Gguf, RefusesTensorsThatDoNotFitTheirPlaces) {
  const std::string data(128, 'x');
  expect_error(File(1).tensor("w", {33, 1}, kQ8_0, 0).data(data), "whole blocks of 32");
  expect_error(File(1).tensor("w", {32}, kQ8_0, 0).data(data), "rows of a matrix");
  expect_error(File(1).tensor("w", {1}, 16, 0).data(data), "the type 16 is not supported");
  expect_error(File(1).tensor("w", {0}, kF32, 0).data(data), "a dimension of 0");
  expect_error(File(1).tensor("w", {1, 1, 1, 1, 1}, kF32, 0).data(data), "5 dimensions");
  expect_error(File(1).tensor("w", {1}, kF32, 4).data(data), "no multiple of 32");
  expect_error(File(2).tensor("v", {16}, kF32, 0).tensor("w", {1}, kF32, 32).data(data),
               "overlaps");
  expect_error(File(2).tensor("w", {1}, kF32, 0).tensor("w", {1}, kF32, 32).data(data), "twice");
}

}  // namespace
}  // namespace sluice::weights
