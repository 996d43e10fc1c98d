#include "reference/kernels/image/image_formats.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "support/process.h"

namespace sluice::reference {
namespace {

std::vector<std::uint8_t> read_seed(const std::string& name) {
  std::ifstream file("tests/fuzz/corpus/image/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ImageFormats, HugeClaimedSizeAllocatesNothing) {
  constexpr std::int64_t kFewBytes = std::int64_t{64} << 20;
  for (const char* name : {"progressive_16384x16384", "jpeg_huge", "png_huge"}) {
    const auto file = read_seed(name);
    ASSERT_FALSE(file.empty()) << name;
    const sluice::testing::MemoryLimit limit(getpid(), kFewBytes);  // less than the pixels need
    Image image;
    EXPECT_TRUE(read_image(file, &image).is_ok());
    EXPECT_TRUE(image.rgb.empty()) << name;
  }
}

TEST(ImageFormats, TruncatedFilesAreRefused) {
  for (const char* name : {"jpeg", "png"}) {
    const auto file = read_seed(name);
    Image image;
    EXPECT_TRUE(read_image(file, &image).is_ok());
    EXPECT_EQ(image.rgb.size(), static_cast<std::size_t>(3 * image.height * image.width)) << name;
    EXPECT_GT(image.height, 0) << name;
    const auto head = std::span(file).first(file.size() / 2);
    EXPECT_TRUE(read_image(head, &image).is_ok());
    EXPECT_TRUE(image.rgb.empty()) << name;
  }
}

}  // namespace
}  // namespace sluice::reference
