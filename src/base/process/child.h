// A program that runs while the caller waits for it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice {

struct ChildLimits {
  std::int64_t memory_bytes = 0;                  ///< of its address space; 0: none
  std::int64_t time_ns = 0;                       ///< after which it is killed; 0: none
  int niceness = 0;                               ///< added to the caller's
  std::size_t kept_bytes = std::size_t{1} << 16;  ///< of each of its outputs, the last
};

struct ChildEnd {
  int status = 0;      ///< as wait(2) has it
  std::string output;  ///< the end of its stdout
  std::string errors;  ///< the end of its stderr

  bool is_success() const { return status == 0; }
};

/// "signal 9 (SIGKILL)", "exit code 1".
std::string describe_end(int status);
/// What a shell would give: 128 more than the number of a signal.
int exit_code(int status);
/// Waits for the end of a child, whose number is its own until then: the status.
int take_end(pid_t id);

/// Runs `program` with the words as its argv, no signal blocked, and no input. With
/// `shows_errors` its stderr is the caller's. Blocks.
/// Fails: kNotFound, kUnavailable    it does not start
///        kDeadlineExceeded, kCancelled    it was killed: the time is over, or `stop` was requested
Result<ChildEnd> run_child(const std::filesystem::path& program, std::vector<std::string> words,
                           const ChildLimits& limits = {}, const std::stop_token& stop = {},
                           bool shows_errors = false);

/// The program of this name in the folder of the one that runs.
std::filesystem::path program_beside(const std::string& name);

}  // namespace sluice
