#include "base/process/spawn_plan.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>  // NOLINT: strerror
#include <unistd.h>

#include <cerrno>

extern char** environ;

namespace sluice {
namespace {

/// Ends with a null, as the system wants it.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

SpawnPlan::SpawnPlan(Terminal terminal) {
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  sigset_t usual;
  if (terminal == Terminal::kOurs) {
    sigemptyset(&usual);
    for (const int number : {SIGINT, SIGQUIT}) sigaddset(&usual, number);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    sigfillset(&usual);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  posix_spawnattr_setsigdefault(&attributes, &usual);
}

SpawnPlan::~SpawnPlan() {
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
}

Result<pid_t> SpawnPlan::start(const std::string& program, std::vector<std::string> words,
                               std::vector<std::string> variables) const {
  pid_t id = -1;
  const int error = posix_spawnp(&id, program.c_str(), &actions, &attributes,
                                 pointers_to(words).data(), pointers_to(variables).data());
  if (error == 0) return id;
  return make_error(error == ENOENT ? Code::kNotFound : Code::kUnavailable, "{} does not start: {}",
                    program, strerror(error));
}

}  // namespace sluice
