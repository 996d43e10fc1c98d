#include "daemon_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "support/eventually.h"
#include "support/process.h"

extern char** environ;

namespace sluice::testing {

DaemonProcess::DaemonProcess(const TempDir& folder, const std::vector<std::string>& flags)
    : address_("unix:" + (folder / "sluice.sock").string()), log_((folder / "log").string()) {
  std::vector<std::string> command = {build_path("bin/sluiced").string(),
                                      "-g",
                                      address_,
                                      "--lock-folder",
                                      (folder / "locks").string(),
                                      "--model-folders",
                                      folder.path().string(),
                                      "--max-message-bytes",
                                      "131072",
                                      "-x"};
  command.insert(command.end(), flags.begin(), flags.end());
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log_.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
}

DaemonProcess::~DaemonProcess() { end_abruptly(); }

std::string DaemonProcess::output() const {
  std::ifstream file(log_);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string DaemonProcess::exchange_address() const {
  constexpr std::string_view kBefore = "sluiced: exchange on ";
  std::string address;
  const auto is_there = [&] {
    const std::string said = output();
    const std::size_t at = said.find(kBefore);
    const std::size_t end = said.find('\n', at);
    if (at == std::string::npos || end == std::string::npos) return false;
    address = said.substr(at + kBefore.size(), end - at - kBefore.size());
    return true;
  };
  EXPECT_TRUE(eventually(is_there)) << "no exchange: " << output();
  return address;
}

std::int64_t DaemonProcess::sum_of(const std::string& command, const std::string& key) const {
  const std::string line =
      build_path("bin/sluice").string() + " " + command + " --json --address " + address_;
  std::FILE* output = popen(line.c_str(), "r");
  std::string text(1 << 20, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), output));
  EXPECT_EQ(pclose(output), 0) << text;
  const std::string quoted = "\"" + key + "\":";
  std::int64_t sum = 0;
  for (auto at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at + 1)) {
    sum += std::atoll(text.c_str() + at + quoted.size());
  }
  return sum;
}

void DaemonProcess::suspend() const { EXPECT_TRUE(testing::suspend(process_)); }

void DaemonProcess::end_abruptly() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
}

}  // namespace sluice::testing
