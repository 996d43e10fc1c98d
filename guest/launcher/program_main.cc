// Starts the processes of a daemon's programs; the daemon alone uses it.
//
//     sluice-guest-program guest USER GROUP BYTES SOCKET PROGRAM [ARGUMENT...]
//     sluice-guest-program proxy PROGRAM [ARGUMENT...]
//
// The process becomes PROGRAM, in a session of its own, and ends with the thread that started it. A
// guest is of USER and GROUP (-1: of the daemon's), has no privileges and at most BYTES of address
// space (0: any). Descriptor 3 is closed once PROGRAM runs; what went wrong is written there.
#include <fcntl.h>
#include <signal.h>
#include <string.h>  // NOLINT: strerror
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/process/privileges.h"
#include "base/process/spawn_plan.h"
#include "base/result.h"
#include "guest/launcher/launcher.h"

namespace sluice::guest {
namespace {

constexpr int kStatusFd = 3;
/// Seconds for a proxy to open its device.
constexpr unsigned kPatience = 60;

using Words = std::span<char*>;  // the last one is null

Result<std::int64_t> number_of(const char* word) {
  const std::string_view text = word;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return invalid_argument("\"{}\" is no number", text);
}

/// Returns only if it fails.
Status become(Words words, std::vector<std::string> variables) {
  std::vector<char*> pointers;
  for (std::string& variable : variables) pointers.push_back(variable.data());
  pointers.push_back(nullptr);
  execve(words.front(), words.data(), pointers.data());
  return make_error(Code::kUnavailable, "{} does not start: {}", words.front(), strerror(errno));
}

/// What a program may know of the daemon's variables, of which others may hold secrets.
std::vector<std::string> for_programs(std::vector<std::string> variables) {
  std::erase_if(variables, [](const std::string& variable) {
    constexpr std::array<std::string_view, 6> kKept = {
        "PATH=", "LANG=", "LC_", "TZ=", "LD_LIBRARY_PATH=", "SLUICE_GUEST_SOCKET="};
    return std::ranges::none_of(kKept, [&](auto start) { return variable.starts_with(start); });
  });
  return variables;
}

Status limit_memory(std::int64_t bytes) {
  if (bytes == 0) return ok_status();
  const rlimit limit = {static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  if (setrlimit(RLIMIT_AS, &limit) == 0) return ok_status();
  return make_error(Code::kUnavailable, "a limit of {} bytes: {}", bytes, strerror(errno));
}

Status become_guest(Words words) {
  constexpr std::size_t kOptions = 4;
  if (words.size() < kOptions + 2) return invalid_argument("words are missing");
  const std::int64_t user = SLUICE_TRY(number_of(words[0]));
  const std::int64_t group = SLUICE_TRY(number_of(words[1]));
  const std::int64_t bytes = SLUICE_TRY(number_of(words[2]));
  const Words program = words.subspan(kOptions);
  alarm(kPatience);
  auto variables = SLUICE_TRY(prepare_guest(words[3], program.front()));
  alarm(0);
  SLUICE_TRY(drop_privileges(user, group));
  SLUICE_TRY(limit_memory(bytes));
  return become(program, for_programs(std::move(variables)));
}

Status start(Words words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();
  if (words.size() >= 3 && std::string_view(words[1]) == "guest") {
    return become_guest(words.subspan(2));
  }
  if (words.size() >= 4 && std::string_view(words[1]) == "proxy") {
    return become(words.subspan(2), environment());
  }
  return invalid_argument("sluice-guest-program is started by sluiced");
}

}  // namespace
}  // namespace sluice::guest

int main(int argc, char** argv) {
  constexpr int kNotStarted = 127;
  const bool has_reader = fcntl(sluice::guest::kStatusFd, F_SETFD, FD_CLOEXEC) == 0;
  const sluice::Status status =
      sluice::guest::start(std::span(argv, static_cast<std::size_t>(argc) + 1));
  const std::string text = status.message() + "\n";
  const int to = has_reader ? sluice::guest::kStatusFd : STDERR_FILENO;
  return write(to, text.data(), text.size()) < 0 ? 1 : kNotStarted;
}
