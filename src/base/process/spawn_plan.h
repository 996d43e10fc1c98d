// How a child process starts.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace sluice {

/// This process's variables, "NAME=VALUE".
std::vector<std::string> environment();

/// More may be added to `actions`.
struct SpawnPlan {
  enum class Terminal {
    kNone,  ///< no input, and no signal blocked or ignored
    kOurs,  ///< our input; the signals of its keys end the child, though we may ignore them
  };
  explicit SpawnPlan(Terminal terminal = Terminal::kNone);
  ~SpawnPlan();
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  /// Starts `program`, which is looked for in PATH if it is no path, with the words as its argv.
  /// Fails: kNotFound, kUnavailable.
  Result<pid_t> start(const std::string& program, std::vector<std::string> words,
                      std::vector<std::string> variables = environment()) const;

  posix_spawn_file_actions_t actions = {};
  posix_spawnattr_t attributes = {};
};

}  // namespace sluice
