#include "backend/registry.h"

#include <gtest/gtest.h>

#include <fstream>

#include "backend/handshake.h"
#include "support/paths.h"

namespace sluice::backend {
namespace {

using testing::TempDir;

TEST(PluginName, IsThatOfTheFile) {
  EXPECT_EQ(plugin_name("/a/libsluice_backend_cpu.so"), "cpu");
  EXPECT_EQ(plugin_name("libsluice_backend_.so"), std::nullopt);
  EXPECT_EQ(plugin_name("libother.so"), std::nullopt);
}

TEST(BackendRegistry, ListsFailedPluginsWithTheReason) {
  const TempDir folder;
  std::ofstream(folder / "libsluice_backend_text.so") << "no library";
  std::ofstream(folder / "notes.txt") << "ignored";
  const auto registry = BackendRegistry::discover({.paths = {folder.path()}, .options = {}});
  ASSERT_FALSE(registry.all().empty());
  const Plugin& plugin = registry.all()[0];
  EXPECT_EQ(plugin.name, "text");
  EXPECT_EQ(plugin.backend, nullptr);
  EXPECT_NE(plugin.reason.message().find("libsluice_backend_text.so"), std::string::npos);
  EXPECT_EQ(registry.find("text").status().code(), Code::kNotFound);
}

TEST(BackendRegistry, LoadsRequestedBackendsOnly) {
  const TempDir folder;
  const auto late = folder / "libsluice_backend_late.so";
  std::ofstream(late) << "no library yet";
  const auto registry = BackendRegistry::discover({.paths = {folder.path()}, .options = {}});
  std::filesystem::remove(late);
  EXPECT_EQ(registry.find("other").status().code(), Code::kNotFound);
  EXPECT_EQ(registry.find("late").status().message(),
            "loading a backend: " + late.string() + ": no such file or folder");
}

TEST(BackendRegistry, NamesAPathThatDoesNotExist) {
  const auto registry = BackendRegistry::discover({.paths = {"/no/such/folder"}, .options = {}});
  ASSERT_FALSE(registry.all().empty());
  EXPECT_EQ(registry.all()[0].reason.message(), "/no/such/folder: no such file or folder");
}

TEST(BackendRegistry, NamesTheBackendsThereAre) {
  const Status status = BackendRegistry().find("tpu").status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message(), "no backend \"tpu\"; there are: none");
}

}  // namespace
}  // namespace sluice::backend
