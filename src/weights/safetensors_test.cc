#include "weights/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace sluice::weights {
namespace {

/// A file of a header and as many bytes of data as said: 0, 1, 2, ..
Bytes file_of(const std::string& header, std::size_t data_bytes) {
  MutableBytes file(8 + header.size() + data_bytes);
  const std::uint64_t length = header.size();
  std::memcpy(file.view().data(), &length, 8);
  std::memcpy(file.view().data() + 8, header.data(), header.size());
  for (std::size_t i = 0; i < data_bytes; ++i) {
    file.view()[8 + header.size() + i] = static_cast<std::byte>(i);
  }
  return std::move(file).freeze();
}

std::string read_error(const std::string& header, std::size_t data_bytes) {
  const auto weights = read_safetensors(file_of(header, data_bytes));
  return weights.is_ok() ? "" : weights.status().message();
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Safetensors, GivesTypesShapesAndBytesInPlace) {
  const Bytes file = file_of(R"({"__metadata__":{"format":"pt"},)"
                             R"("b":{"dtype":"BF16","shape":[2,1],"data_offsets":[8,12]},)"
                             R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]} })",
                             12);
  const auto weights = read_safetensors(file);
  ASSERT_TRUE(weights.is_ok()) << weights.status().message();
  ASSERT_EQ(weights->size(), 2U);
  const ir::Constant* a = weights->find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->type.to_string(), "f32[2]");
  const ir::Constant* b = weights->find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->type.to_string(), "bf16[2,1]");
  EXPECT_EQ(b->data.size(), 4U);
  EXPECT_EQ(static_cast<int>(b->data.data()[0]), 8);
  EXPECT_EQ(weights->find("c"), nullptr);
}

TEST(Safetensors, SharesAlignedBytesWithTheFileAndCopiesOthers) {
  for (const std::size_t padding : {0, 1}) {
    std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    header.resize((header.size() + 7) / 8 * 8 + padding, ' ');
    const Bytes file = file_of(header, 8);
    const auto weights = read_safetensors(file);
    ASSERT_TRUE(weights.is_ok()) << weights.status().message();
    const std::byte* data = weights->find("a")->data.data();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 4, 0U);
    EXPECT_EQ(data == file.data() + 8 + header.size(), padding == 0);
    EXPECT_EQ(static_cast<int>(data[7]), 7);
  }
}

TEST(Safetensors, TakesTensorsWithoutElements) {
  EXPECT_EQ(read_error(R"({"a":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]},)"
                       R"("b":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})",
                       1),
            "");
}

TEST(Safetensors, RefusesADamagedHeader) {
  EXPECT_FALSE(read_safetensors(Bytes()).is_ok());
  MutableBytes huge(16);
  const std::uint64_t length = 100'000'001;
  std::memcpy(huge.view().data(), &length, 8);
  const auto refused = read_safetensors(std::move(huge).freeze());
  EXPECT_TRUE(contains(refused.status().message(), "at most 100000000"))
      << refused.status().message();
  const Bytes whole = file_of("{}", 0);
  EXPECT_TRUE(read_safetensors(whole).is_ok());
  EXPECT_FALSE(read_safetensors(whole.slice(0, 9)).is_ok());
  EXPECT_TRUE(contains(read_error("[]", 0), "no JSON object"));
  EXPECT_TRUE(contains(read_error("{\"a\":", 0), "not JSON"));
}

TEST(Safetensors, RefusesANameTwice) {
  EXPECT_TRUE(contains(read_error(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                  R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                                  1),
                       "tensor \"a\" twice"));
}

TEST(Safetensors, RefusesDeepValuesWithoutATreeOfThem) {
  EXPECT_TRUE(contains(read_error(std::string(1'000'000, '['), 0), "values within values"));
  EXPECT_TRUE(contains(read_error(R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", 8),
                       "values within values"));
}

TEST(Safetensors, TakesManyTensors) {
  // A look at each member for each member would take minutes.
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i) {
    header += (i > 0 ? "," : "") + ("\"t" + std::to_string(i)) +
              R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  }
  const auto weights = read_safetensors(file_of(header + "}", 0));
  ASSERT_TRUE(weights.is_ok()) << weights.status().message();
  EXPECT_EQ(weights->size(), 100'000U);
}

TEST(Safetensors, NamesTheTensorWhoseEntryIsWrong) {
  const auto entry = [](const std::string& fields) { return "{\"w.x\":{" + fields + "}}"; };
  const struct {
    std::string fields, message;
  } cases[] = {
      {R"("shape":[1],"data_offsets":[0,1])", "dtype: missing"},
      {R"("dtype":"Q9","shape":[1],"data_offsets":[0,1])", "\"Q9\" is not supported"},
      {R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])", "-1 is not between"},
      {R"("dtype":"U8","shape":[2],"data_offsets":[0,1])", "u8[2] does not fit 1 bytes"},
      {R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])", "does not fit"},
      {R"("dtype":"U8","shape":[1],"data_offsets":[1,0])", "0 is not between"},
      {R"("dtype":"U8","shape":[1],"data_offsets":[0])", "expected a begin and an end"},
      {R"("dtype":"U8","shape":[2],"data_offsets":[0,2])", "ends at byte 2, the file has 1"},
      {R"("dtype":"U8","shape":[],"data_offsets":[0,9223372036854775808])", "is not between"},
  };
  for (const auto& wrong : cases) {
    const std::string message = read_error(entry(wrong.fields), 1);
    EXPECT_TRUE(contains(message, "tensor \"w.x\"")) << message;
    EXPECT_TRUE(contains(message, wrong.message)) << message;
  }
}

TEST(Safetensors, RefusesOverlapsAndBytesOfNobody) {
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  const std::string over = R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]})";
  const std::string apart = R"("b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]})";
  EXPECT_TRUE(
      contains(read_error("{" + a + "," + over + "}", 3), "tensor \"b\": its range overlaps"));
  EXPECT_TRUE(
      contains(read_error("{" + a + "," + apart + "}", 5), "tensor \"b\": 1 bytes before it"));
  EXPECT_TRUE(contains(read_error("{" + a + "}", 5), "the last 3 bytes"));
}

}  // namespace
}  // namespace sluice::weights
