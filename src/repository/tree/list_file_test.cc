#include "repository/tree/list_file.h"

#include <gmock/gmock.h>

#include <fstream>

#include "support/paths.h"

namespace sluice::repository {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ListFileTest : public ::testing::Test {
 protected:
  /// Renames a new file over the list, so that the list is another file.
  void put(const std::string& text) const {
    std::ofstream(path_.string() + ".new") << text;
    fs::rename(path_.string() + ".new", path_);
  }
  static std::string list_of(const std::string& name) {
    return R"({"model_config_list": [{"config": {"name": ")" + name + R"(", "base_path": "m"}}]})";
  }

  sluice::testing::TempDir folder_;
  const fs::path path_ = folder_.path() / "config.json";
  ListFile file_;
};

TEST_F(ListFileTest, IsParsedOnceUntilItChanges) {
  put(list_of("a"));
  const auto first = file_.read(path_);
  ASSERT_TRUE(first.is_ok()) << first.status().to_string();
  EXPECT_EQ(file_.read(path_)->get(), first->get());
  put(list_of("another"));
  const auto second = file_.read(path_);
  ASSERT_TRUE(second.is_ok()) << second.status().to_string();
  EXPECT_EQ((*second)->models.at(0).config.name, "another");
  EXPECT_EQ((*first)->models.at(0).config.name, "a");
}

TEST_F(ListFileTest, IsParsedAnewAfterForget) {
  put(list_of("a"));
  const auto first = file_.read(path_);
  ASSERT_TRUE(first.is_ok()) << first.status().to_string();
  file_.forget();
  const auto second = file_.read(path_);
  ASSERT_TRUE(second.is_ok()) << second.status().to_string();
  EXPECT_NE(second->get(), first->get());
}

TEST_F(ListFileTest, RecoversFromErrors) {
  EXPECT_EQ(file_.read(path_).status().code(), Code::kNotFound);
  put("[");
  const auto damaged = file_.read(path_);
  EXPECT_EQ(damaged.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(damaged.status().message(), HasSubstr("config.json"));
  EXPECT_EQ(file_.read(path_).status().message(), damaged.status().message());
  put(list_of("a"));
  EXPECT_TRUE(file_.read(path_).is_ok());
  fs::remove(path_);
  EXPECT_EQ(file_.read(path_).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace sluice::repository
