// Programs of functions that a test writes as a script.
#pragma once

#include <string>
#include <vector>

namespace sluice::sandbox::testing {

/// What starts the words behind it as a program's launcher does.
inline std::vector<std::string> shell_launcher() {
  return {"/bin/sh", "-c", R"(exec 3>&-; exec "$@")", "sh"};
}

/// Words of a program that runs the script.
inline std::vector<std::string> shell_program(const std::string& script) {
  std::vector<std::string> words = shell_launcher();
  words.insert(words.end(), {"/bin/sh", "-c", script});
  return words;
}

}  // namespace sluice::sandbox::testing
