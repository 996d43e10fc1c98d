#include "daemon_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <fstream>
#include <sstream>
#include <vector>

extern char** environ;

namespace sluice::testing {

DaemonProcess::DaemonProcess(const TempDir& folder)
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

void DaemonProcess::suspend() const {
  kill(process_, SIGSTOP);
  int status = 0;
  waitpid(process_, &status, WUNTRACED);
}

void DaemonProcess::end_abruptly() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
}

}  // namespace sluice::testing
