// A daemon in a control group that limits its memory.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "daemon/on_processors.h"
#include "daemon/running_daemon.h"
#include "exec/testing/exec_testing.h"
#include "package/package.h"
#include "support/eventually.h"
#include "terms/runtime_code.h"

namespace sluice::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLimitBytes = 512 * kMiB;

bool write_to(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

/// A control group of this process's own, below the one that it is in.
class ControlGroup {
 public:
  /// Nothing where this user may not make one.
  static std::optional<fs::path> own_group() {
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
      if (const auto at = line.find(":memory:"); at != std::string::npos) {
        return fs::path("/sys/fs/cgroup/memory") / fs::path(line.substr(at + 8)).relative_path();
      }
    }
    return std::nullopt;
  }
  explicit ControlGroup(fs::path outer)
      : outer_(std::move(outer)), path_(outer_ / ("sluice-test-" + std::to_string(getpid()))) {
    std::error_code error;
    is_made_ = fs::create_directory(path_, error) &&
               write_to(path_ / "memory.limit_in_bytes", std::to_string(kLimitBytes));
  }
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;
  ~ControlGroup() {
    // It is empty when the kernel has buried the daemon.
    const bool is_gone = eventually([&] { return rmdir(path_.c_str()) == 0 || errno == ENOENT; });
    EXPECT_TRUE(is_gone) << path_;
  }

  bool is_made() const { return is_made_; }
  bool enter() const { return write_to(path_ / "cgroup.procs", std::to_string(getpid())); }
  bool leave() const { return write_to(outer_ / "cgroup.procs", std::to_string(getpid())); }

 private:
  const fs::path outer_;
  const fs::path path_;
  bool is_made_ = false;
};

TEST(ControlGroupTest, RunThatNeedsMoreThanTheGroupAllowsIsRefusedAndTheDaemonLives) {
  const auto outer = ControlGroup::own_group();
  if (!outer) GTEST_SKIP() << "no memory controller of control groups, version 1";
  const ControlGroup group(*outer);
  if (!group.is_made()) GTEST_SKIP() << "this user makes no control groups";
  const TempDir folder;
  const std::string path = (folder / "ones.sluice").string();
  const auto executable = exec::testing::executable_of(R"(
subgraph @0 "main" {
  input %shape : i64[1]
  const %one : f32[1] = [1.0]
  [%y : f32[?]] = Expand.13[%one, %shape]
  output [%y]
}
)",
                                                       "sim");
  ASSERT_TRUE(package::write_package(executable, path).is_ok());
  ASSERT_TRUE(group.enter());
  auto daemon = RunningDaemon::start(folder);  // inherits the group
  ASSERT_TRUE(group.leave());
  ASSERT_TRUE(daemon.is_ok()) << daemon.status().to_string();
  const auto client = (*daemon)->client();
  terms::LoadOptions in_a_worker;
  in_a_worker.isolation = terms::Isolation::kProcess;
  for (const terms::LoadOptions& options : {terms::LoadOptions(), in_a_worker}) {
    const auto model = client->upload(options, path);
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    const auto ask_for = [&](std::int64_t bytes) {
      std::int64_t count = bytes / 4;
      return client->infer(model->info.handle,
                           {{"shape", {&count, 8, ir::ElementType::kI64, {1}}}});
    };
    // The machine has more, so only the group's limit refuses it before the kernel kills.
    EXPECT_EQ(terms::runtime_code_of(ask_for(2 * kLimitBytes).status()),
              RuntimeCode::kOutOfResources);
    const auto next = ask_for(16 * kMiB);
    EXPECT_TRUE(next.is_ok()) << next.status().to_string();
    ASSERT_TRUE(client->unload(model->info.handle).is_ok());
  }
  EXPECT_EQ((*daemon)->end(SIGTERM), 0);
}

}  // namespace
}  // namespace sluice::testing
