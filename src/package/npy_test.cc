#include "package/npy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/paths.h"

namespace sluice::package {
namespace {

Bytes npy_bytes(const std::string& header, const std::string& data) {
  std::string text = "\x93NUMPY";
  text += {1, 0, static_cast<char>(header.size()), 0};
  text += header + data;
  const auto view = std::as_bytes(std::span(text));
  return Bytes::own({view.begin(), view.end()});
}

TEST(Npy, RoundTripKeepsTensors) {
  const testing::TempDir folder;
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const auto path = folder / "x.npy";
  const auto type = ir::Type::tensor(ir::ElementType::kF32, ir::Shape{2, 3});
  ASSERT_TRUE(write_npy(path, type, std::as_bytes(std::span(values))).is_ok());
  const auto read = read_npy(path);
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_EQ(read->type.to_string(), "f32[2,3]");
  EXPECT_EQ(std::memcmp(read->data.data(), values.data(), 24), 0);
}

TEST(Npy, ReadsScalarsAndEmptyArrays) {
  const auto scalar =
      parse_npy(npy_bytes("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", "12345678"));
  ASSERT_TRUE(scalar.is_ok()) << scalar.status().to_string();
  EXPECT_EQ(scalar->type.to_string(), "i64[]");
  const auto empty =
      parse_npy(npy_bytes("{'descr': '|b1', 'fortran_order': False, 'shape': (0, 3), }", ""));
  ASSERT_TRUE(empty.is_ok()) << empty.status().to_string();
  EXPECT_EQ(empty->type.to_string(), "bool[0,3]");
}

TEST(Npy, RefusesUnsupportedFiles) {
  for (const char* header :
       {"", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }",
        "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (x), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }",
        "{'descr': ", "{'descr': '", "{'shape': (", "{'descr': '<f4', 'fortran_order':"}) {
    EXPECT_FALSE(parse_npy(npy_bytes(header, "1234")).is_ok()) << header;
  }
  EXPECT_FALSE(parse_npy(Bytes()).is_ok());
  EXPECT_FALSE(parse_npy(Bytes::own(std::vector<std::byte>(20))).is_ok());
}

}  // namespace
}  // namespace sluice::package
