#include "package/draft.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "ir/text/graph_text.h"
#include "package/package.h"

namespace sluice::package {
namespace {

constexpr std::string_view kDraftGraph = R"(subgraph @0 "main" {
  input %x : f32[N,2048]
  const %w : f32[2048] = splat 1.5
  const %v : f32[2] = [1.0, 2.0]
  [%y : f32[N,2048]] = Add.14[%x, %w]
  output [%y, %v]
}
)";

PackedConstant packed_of(int byte, std::size_t size, std::uint32_t input) {
  return {"cpu",
          "1.0",
          "avx512",
          0,
          input,
          "panel16",
          Bytes::own(std::vector<std::byte>(size, static_cast<std::byte>(byte)))};
}

class DraftTest : public ::testing::Test {
 protected:
  DraftTest()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    executable_.graph = ir::parse_graph(kDraftGraph).value();
    executable_.backends = {"cpu"};
    executable_.backend_of = {{0}};
  }
  ~DraftTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path() const { return folder_ / "model.sluice"; }
  bool is_empty() const { return std::filesystem::is_empty(folder_); }

  std::filesystem::path folder_;
  Executable executable_;
};

TEST_F(DraftTest, WritesWhatWritePackageWrites) {
  auto draft = Draft::create(path());
  ASSERT_TRUE(draft.is_ok()) << draft.status().to_string();
  ASSERT_TRUE(draft->write_graph(executable_.graph).is_ok());
  EXPECT_EQ(ir::print(executable_.graph), kDraftGraph) << "constants are read from the file";
  std::vector<PackedConstant> packed = {packed_of(7, 5000, 1), packed_of(8, 3 << 20, 0)};
  for (PackedConstant& each : packed) {
    ASSERT_TRUE(draft->add_packed(each).is_ok());
    EXPECT_EQ(each.data.size(), 0U) << "memory is given back";
  }
  ASSERT_TRUE(draft->map_packed(packed).is_ok());
  EXPECT_EQ(packed[1].data.size(), std::size_t{3} << 20U);
  EXPECT_EQ(packed[1].data.view().back(), std::byte{8});
  EXPECT_FALSE(std::filesystem::exists(path()));
  executable_.packed = packed;
  ASSERT_TRUE(draft->finish(executable_).is_ok());

  const std::string drafted = read_text_file(path()).value();
  ASSERT_TRUE(read_package(path()).is_ok());
  ASSERT_TRUE(write_package(executable_, path()).is_ok());
  EXPECT_TRUE(drafted == read_text_file(path()).value());
}

TEST_F(DraftTest, LeavesNothingWithoutFinish) {
  {
    auto draft = Draft::create(path());
    ASSERT_TRUE(draft.is_ok());
    ASSERT_TRUE(draft->write_graph(executable_.graph).is_ok());
    PackedConstant packed = packed_of(7, 5000, 1);
    ASSERT_TRUE(draft->add_packed(packed).is_ok());
  }
  EXPECT_TRUE(is_empty());
}

TEST_F(DraftTest, RefusesATargetInNoFolder) {
  EXPECT_EQ(Draft::create(folder_ / "none" / "model.sluice").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace sluice::package
