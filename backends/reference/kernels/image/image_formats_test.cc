#include "reference/kernels/image/image_formats.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <iterator>
#include <string>

namespace sluice::reference {
namespace {

std::vector<std::uint8_t> read_seed(const std::string& name) {
  std::ifstream file("tests/fuzz/corpus/image/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

long peak_kilobytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(ImageFormats, HugeClaimedSizeAllocatesNothing) {
  constexpr long kFewKilobytes = 64 << 10;
  for (const char* name : {"progressive_16384x16384", "jpeg_huge", "png_huge"}) {
    const auto file = read_seed(name);
    ASSERT_FALSE(file.empty()) << name;
    const long before = peak_kilobytes();
    Image image;
    EXPECT_TRUE(read_image(file, &image).is_ok());
    EXPECT_TRUE(image.rgb.empty()) << name;
    EXPECT_LT(peak_kilobytes() - before, kFewKilobytes) << name;
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
