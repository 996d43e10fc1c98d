#include "weights/folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/paths.h"

namespace sluice::weights {
namespace {

using sluice::testing::TempDir;

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// A file of one tensor of three bytes.
void write_tensor(const std::filesystem::path& path, const std::string& name,
                  const std::string& data) {
  const std::string header = "{\"" + name + R"(":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  write(path, length + header + data);
}

std::string error_of(const std::filesystem::path& folder) {
  const auto weights = open_folder(folder);
  return weights.is_ok() ? "" : weights.status().message();
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kIndex = "model.safetensors.index.json";

TEST(WeightFolder, ReadsTheWholeFile) {
  const TempDir folder;
  write_tensor(folder / "model.safetensors", "a", "xyz");
  const auto weights = open_folder(folder.path());
  ASSERT_TRUE(weights.is_ok()) << weights.status().message();
  EXPECT_EQ(static_cast<char>(weights->find("a")->data.data()[2]), 'z');
  EXPECT_EQ(files_of(folder.path()).size(), 1U);
}

TEST(WeightFolder, ReadsShardsByTheirIndex) {
  const TempDir folder;
  write_tensor(folder / "one.safetensors", "a", "abc");
  write_tensor(folder / "two.safetensors", "b", "def");
  write(folder / kIndex,
        R"({"metadata":{},"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  const auto weights = open_folder(folder.path());
  ASSERT_TRUE(weights.is_ok()) << weights.status().message();
  EXPECT_EQ(static_cast<char>(weights->find("b")->data.data()[0]), 'd');
  EXPECT_EQ(files_of(folder.path()).size(), 3U);
}

TEST(WeightFolder, RefusesShardsOutsideTheFolder) {
  const TempDir folder;
  for (const char* shard : {"../x.safetensors", "/x", "a/b", "..", "a\\\\b", ""}) {
    write(folder / kIndex, std::string(R"({"weight_map":{"w":")") + shard + "\"}}");
    const std::string message = error_of(folder.path());
    EXPECT_TRUE(has(message, "tensor \"w\"")) << message;
    EXPECT_TRUE(has(message, "not the name of a file in the folder")) << message;
  }
}

TEST(WeightFolder, RefusesAnIndexThatItsShardsContradict) {
  const TempDir folder;
  write_tensor(folder / "one.safetensors", "a", "abc");
  write(folder / kIndex, R"({"weight_map":{"b":"one.safetensors"}})");
  EXPECT_TRUE(has(error_of(folder.path()), "tensor \"b\" is not in one.safetensors"));
  write(folder / kIndex, R"({"weight_map":{"a":"none.safetensors"}})");
  EXPECT_EQ(open_folder(folder.path()).status().code(), Code::kNotFound);
  write(folder / kIndex, R"({"weight_map":["a"]})");
  EXPECT_TRUE(has(error_of(folder.path()), "weight_map: expected an object"));
}

TEST(WeightFolder, SaysWhatItLookedFor) {
  const TempDir folder;
  const auto weights = open_folder(folder.path());
  EXPECT_EQ(weights.status().code(), Code::kNotFound);
  EXPECT_TRUE(has(weights.status().message(), "neither model.safetensors nor"));
}

}  // namespace
}  // namespace sluice::weights
