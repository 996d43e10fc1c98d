// Two daemons on one machine, each with a device of its own: one listens on a Unix socket, the
// other on TCP. When one is killed, the other serves on.
//
//   daemons digits_sim.sluice          starts `sluiced`, which is found in PATH, twice
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "show.hpp"

extern char** environ;

static std::string folder;

/// A daemon that manages one device of the simulated machine.
static pid_t start(int device, const std::string& address) {
  std::vector<std::string> words = {"sluiced",
                                    "-x",
                                    "-t",
                                    std::to_string(device),
                                    "-g",
                                    address,
                                    "--sim",
                                    folder + "/machine.json",
                                    "--lock-folder",
                                    folder + "/locks"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log = folder + "/log" + std::to_string(device);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_CREAT | O_WRONLY, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t process = 0;
  const int error = posix_spawnp(&process, "sluiced", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  show(error == 0, "sluiced with device " + std::to_string(device) + " starts, for " + address);
  return process;
}

/// A port that is free now.
static int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

static int exit_code(pid_t process) {
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "digits_sim.sluice";
  char name[] = "/tmp/sluice-daemons-XXXXXX";
  folder = mkdtemp(name);
  std::ofstream(folder + "/machine.json") << R"({"devices": [{"count": 3, "cores": 2}],
      "links": [{"a": 0, "b": 1, "bytes_per_s": 1e10}, {"a": 1, "b": 2, "bytes_per_s": 1e10}]})";
  const std::string first_address = "unix:" + folder + "/first.sock";
  const std::string second_address = "127.0.0.1:" + std::to_string(free_port());
  const pid_t first = start(0, first_address), second = start(2, second_address);
  const sluice::ConnectOptions patience = {.timeout = std::chrono::seconds(30)};
  auto here = must(sluice::Runtime::connect(first_address, patience));
  auto there = must(sluice::Runtime::connect(second_address, patience));
  show(must(here.devices()).size() == 1 && must(there.devices()).size() == 1,
       "each daemon has one device of the three");

  const auto one = must(here.load({.path = path}));
  const auto two = must(there.load({.path = path}));  // over TCP the library sends the file
  show(is_seven(must(one.infer(seven()))), "the first answers over its Unix socket");
  show(is_seven(must(two.infer(seven()))), "the second answers over TCP");

  const pid_t third = start(2, "unix:" + folder + "/third.sock");
  show(exit_code(third) > 0, "a third daemon for a device that is taken ends with an error");

  kill(first, SIGKILL);
  show(exit_code(first) == -SIGKILL, "the first daemon is killed");
  const auto lost = one.infer(seven());
  show(!lost && lost.error().code == sluice::Code::kUnavailable, "its clients get UNAVAILABLE");
  show(is_seven(must(two.infer(seven()))), "the second one answers as before");

  kill(second, SIGTERM);
  show(exit_code(second) == 0, "SIGTERM ends a daemon with exit code 0");
  std::filesystem::remove_all(folder);
}
