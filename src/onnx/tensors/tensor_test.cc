#include "onnx/tensors/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ir/verify.h"

namespace sluice::onnx {
namespace {

using ::testing::ElementsAre;

pb::TensorProto tensor_of(std::int32_t element, const std::vector<std::int64_t>& dims) {
  pb::TensorProto tensor;
  tensor.set_data_type(element);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

/// The constant's bytes as elements; empty if the tensor is refused.
template <typename T>
std::vector<T> read_as(pb::TensorProto tensor) {
  TensorReader reader({});
  const auto constant = reader.read(tensor);
  EXPECT_TRUE(constant.is_ok()) << constant.status().to_string();
  if (!constant.is_ok()) return {};
  EXPECT_TRUE(ir::verify_constant(*constant).is_ok());
  std::vector<T> values(constant->data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), constant->data.data(), constant->data.size());
  return values;
}

TEST(TensorReader, ReadsTypedFields) {
  pb::TensorProto floats = tensor_of(pb::TensorProto::FLOAT, {2});
  floats.add_float_data(1.5F);
  floats.add_float_data(-2);
  EXPECT_THAT(read_as<float>(floats), ElementsAre(1.5F, -2.0F));
  pb::TensorProto doubles = tensor_of(pb::TensorProto::DOUBLE, {1});
  doubles.add_double_data(0.25);
  EXPECT_THAT(read_as<double>(doubles), ElementsAre(0.25));
  pb::TensorProto longs = tensor_of(pb::TensorProto::INT64, {1});
  longs.add_int64_data(-7);
  EXPECT_THAT(read_as<std::int64_t>(longs), ElementsAre(-7));
  pb::TensorProto words = tensor_of(pb::TensorProto::UINT32, {1});
  words.add_uint64_data(4000000000U);
  EXPECT_THAT(read_as<std::uint32_t>(words), ElementsAre(4000000000U));
  pb::TensorProto complex = tensor_of(pb::TensorProto::COMPLEX64, {1});
  complex.add_float_data(3);
  complex.add_float_data(4);
  EXPECT_THAT(read_as<float>(complex), ElementsAre(3.0F, 4.0F));
}

TEST(TensorReader, NarrowsInt32Fields) {
  const auto with_values = [](std::int32_t element, const std::vector<std::int32_t>& values,
                              std::int64_t count) {
    pb::TensorProto tensor = tensor_of(element, {count});
    for (const std::int32_t value : values) tensor.add_int32_data(value);
    return tensor;
  };
  EXPECT_THAT(read_as<std::int8_t>(with_values(pb::TensorProto::INT8, {-1, 5}, 2)),
              ElementsAre(-1, 5));
  EXPECT_THAT(read_as<std::uint8_t>(with_values(pb::TensorProto::BOOL, {1, 0}, 2)),
              ElementsAre(1, 0));
  EXPECT_THAT(read_as<std::uint16_t>(with_values(pb::TensorProto::FLOAT16, {0x3C00}, 1)),
              ElementsAre(0x3C00));
  EXPECT_THAT(read_as<std::uint16_t>(with_values(pb::TensorProto::BFLOAT16, {0x3F80}, 1)),
              ElementsAre(0x3F80));
  const auto i4 = static_cast<std::int32_t>(ir::ElementType::kI4);
  EXPECT_THAT(read_as<std::uint8_t>(with_values(i4, {0x21, 0x03}, 3)), ElementsAre(0x21, 0x03));
}

TEST(TensorReader, PacksStringsAsOffsetsAndBytes) {
  pb::TensorProto tensor = tensor_of(pb::TensorProto::STRING, {2});
  tensor.add_string_data("abcdefgh");
  tensor.add_string_data("ijklmnop");
  const auto words = read_as<std::int64_t>(tensor);
  ASSERT_EQ(words.size(), 5U);
  EXPECT_THAT(std::vector(words.begin(), words.begin() + 3), ElementsAre(0, 8, 16));
}

TEST(TensorReader, TakesRawBytesWithoutACopy) {
  pb::TensorProto tensor = tensor_of(pb::TensorProto::FLOAT, {256});
  tensor.set_raw_data(std::string(1024, '\1'));
  const char* before = tensor.raw_data().data();
  TensorReader reader({});
  const auto constant = reader.read(tensor);
  ASSERT_TRUE(constant.is_ok());
  EXPECT_EQ(static_cast<const void*>(constant->data.data()), before);
  const auto again = reader.read(tensor);  // the message is empty now
  ASSERT_TRUE(again.is_ok());
  EXPECT_EQ(again->data.data(), constant->data.data());
}

TEST(TensorReader, ReadsEmptyTensors) {
  EXPECT_TRUE(read_as<float>(tensor_of(pb::TensorProto::FLOAT, {0, 5})).empty());
}

}  // namespace
}  // namespace sluice::onnx
