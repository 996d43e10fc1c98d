#include "programs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace sluice::bench {

Process Process::start(const std::function<void()>& program) {
  const pid_t child = fork();
  if (child != 0) return Process(child);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  program();
  std::_Exit(127);
}

Process::~Process() {
  if (id_ < 0) return;
  kill(id_, SIGKILL);
  waitpid(id_, nullptr, 0);
}

Process start_daemon(const std::string& folder, const std::vector<std::string>& flags) {
  const auto build = std::filesystem::canonical("/proc/self/exe").parent_path().parent_path();
  const std::string program = (build / "bin/sluiced").string();
  const std::string address = "unix:" + folder + "/sluice.sock";
  std::vector<std::string> words = {program, "-x", "-g", address, "--lock-folder", folder};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return Process::start([&] {
    const int log = open((folder + "/log").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execv(program.c_str(), arguments.data());
  });
}

}  // namespace sluice::bench
