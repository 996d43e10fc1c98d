#include "running_daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <utility>

#include "support/eventually.h"
#include "support/process.h"

extern char** environ;

namespace sluice::testing {
namespace {

/// Starts `command` with stdout and stderr on `output_fd`.
pid_t spawn(const std::vector<std::string>& command, int output_fd) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output_fd, STDERR_FILENO);
  pid_t process = -1;
  const int error =
      posix_spawn(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? process : -1;
}

/// Sends a signal and waits for the end; the exit code, or minus the signal that ended it.
int end_process(pid_t process, int signal_number) {
  kill(process, signal_number);
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Result<std::unique_ptr<RunningDaemon>> RunningDaemon::start(const TempDir& folder,
                                                            const DaemonSetup& setup) {
  const std::string address = "unix:" + (folder / (setup.name + ".sock")).string();
  std::vector<std::string> command = {build_path("bin/sluiced").string(),
                                      "-g",
                                      address,
                                      "--lock-folder",
                                      (folder / "locks").string(),
                                      "--model-folders",
                                      folder.path().string(),
                                      "-x",
                                      "-l",
                                      "6"};
  if (!setup.sim.empty()) {
    const std::filesystem::path description = folder / (setup.name + ".json");
    std::ofstream(description) << setup.sim;
    command.insert(command.end(), {"--sim", description.string()});
  }
  command.insert(command.end(), setup.flags.begin(), setup.flags.end());
  const std::filesystem::path log = folder / (setup.name + ".log");
  const int fd = open(log.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  const pid_t process = spawn(command, fd);
  close(fd);
  if (process < 0) return make_error(Code::kUnavailable, "{} does not start", command[0]);
  std::unique_ptr<RunningDaemon> daemon(new RunningDaemon(process));
  daemon->address_ = address;
  daemon->log_ = log;
  if (daemon->wait_until_it_serves()) return daemon;
  return make_error(Code::kUnavailable, "{}", daemon->output());
}

/// The socket is there when it serves; a client then waits for its answer.
bool RunningDaemon::wait_until_it_serves() const {
  const auto serves = [&] {
    return text_of(log_).find("sluiced: listening on") != std::string::npos;
  };
  return eventually([&] { return serves() || has_ended(); }) && serves();
}

bool RunningDaemon::has_ended() const {
  siginfo_t info = {};
  const int error = waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT);
  return error != 0 || info.si_pid != 0;
}

RunningDaemon::~RunningDaemon() {
  if (process_ > 0) end(SIGKILL);
  if (::testing::Test::HasFailure()) std::fprintf(stderr, "%s", output().c_str());
}

std::unique_ptr<rpc::client::Client> RunningDaemon::client(const std::string& session) const {
  rpc::client::ClientOptions options;
  options.address = address_;
  auto client = rpc::client::Client::create(options);
  EXPECT_TRUE(client.is_ok()) << client.status().to_string();
  if (!session.empty()) {
    const auto id = (*client)->open_session(session);
    EXPECT_TRUE(id.is_ok()) << id.status().to_string();
  }
  return std::move(client).value();
}

int RunningDaemon::end(int signal_number) {
  return end_process(std::exchange(process_, -1), signal_number);
}

std::string RunningDaemon::output() const { return text_of(log_); }

Program::Program(const std::vector<std::string>& command) {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  process_ = spawn(command, ends[1]);
  close(ends[1]);
  output_fd_ = ends[0];
}

Program::~Program() {
  if (process_ > 0) end(SIGKILL);
  if (output_fd_ >= 0) close(output_fd_);
}

std::string Program::read_line() const {
  std::string line;
  char c = 0;
  while (read(output_fd_, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

int Program::end(int signal_number) {
  return end_process(std::exchange(process_, -1), signal_number);
}

}  // namespace sluice::testing
