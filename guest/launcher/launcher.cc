#include "guest/launcher/launcher.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>  // NOLINT: strerror
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/process/child.h"
#include "base/process/spawn_plan.h"
#include "guest/launcher/program_file.h"
#include "guest/wire/call_ring.h"
#include "guest/wire/hello.h"
#include "shm/region.h"

namespace sluice::guest {
namespace {

constexpr int kSocketFd = 3;
constexpr int kBacklog = 128;

std::filesystem::path runtime_folder() { return program_beside("..") / "lib" / "sluice" / "guest"; }

/// Only this user's processes connect: the file's mode is 0600.
Result<shm::Fd> listen_at(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return invalid_argument("socket \"{}\": a path has 1 to {} bytes", path,
                            sizeof(address.sun_path) - 1);
  }
  if (shm::connect_unix(path).is_ok()) {
    return make_error(Code::kAlreadyExists, "socket {}: another process listens there", path);
  }
  struct stat info = {};
  if (lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) unlink(path.c_str());
  memcpy(address.sun_path, path.c_str(), path.size());
  shm::Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const mode_t before = umask(0177);
  const bool is_bound = fd.is_valid() && bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                                              sizeof(address)) == 0;
  umask(before);
  if (is_bound && listen(fd.get(), kBacklog) == 0) return fd;
  return make_error(Code::kUnavailable, "socket {}: {}", path, strerror(errno));
}

std::vector<std::string> guest_environment(const std::string& socket_path, std::int32_t num_cores) {
  constexpr std::string_view kPath = "LD_LIBRARY_PATH=";
  const std::string socket = fmt::format("{}={}", kSocketVariable, socket_path);
  std::string path = std::string(kPath) + runtime_folder().string();
  std::vector<std::string> words;
  for (std::string& text : environment()) {
    if (text.starts_with(kPath)) {
      path += ":" + text.substr(kPath.size());
    } else if (!text.starts_with(fmt::format("{}=", kSocketVariable)) &&
               !text.starts_with(fmt::format("{}=", kCoresVariable))) {
      words.push_back(std::move(text));
    }
  }
  words.push_back(socket);
  if (num_cores > 0) words.push_back(fmt::format("{}={}", kCoresVariable, num_cores));
  words.push_back(std::move(path));
  return words;
}

/// A proxy that has no device ends; its guests would find none without this.
Status check_proxy(const std::string& socket_path) {
  const shm::Fd socket = SLUICE_TRY(shm::connect_unix(socket_path));
  Hello hello;
  return receive_hello(socket.get(), hello).status();
}

}  // namespace

Result<Proxy> Proxy::start(const std::string& socket_path, const ProxyOptions& options) {
  const shm::Fd listening = SLUICE_TRY(listen_at(socket_path));
  const std::string program = program_beside("sluice-guest-proxy").string();
  SpawnPlan plan;
  posix_spawn_file_actions_adddup2(&plan.actions, listening.get(), kSocketFd);
  const auto id = plan.start(
      program, {program, options.backend, std::to_string(options.memory_bytes), options.machine,
                options.transfer_policy, std::to_string(options.transfer_blocks_in_flight)});
  if (id.is_ok()) return Proxy(*id, socket_path);
  unlink(socket_path.c_str());
  return id.status();
}

Proxy::~Proxy() {
  if (id_ < 0) return;
  kill(id_, SIGKILL);
  take_end(id_);
  unlink(path_.c_str());
}

int Proxy::wait() {
  const int status = take_end(id_);
  id_ = -1;
  unlink(path_.c_str());
  return status;
}

Result<std::vector<GuestLine>> list_guests(const std::string& socket_path) {
  const shm::Fd socket = SLUICE_TRY(shm::connect_unix(socket_path));
  Hello hello;
  const shm::Fd memory = SLUICE_TRY(receive_hello(socket.get(), hello));
  const auto region = SLUICE_TRY(shm::Region::adopt(memory.get(), hello.shared_bytes));
  CallSender sender = SLUICE_TRY(CallSender::create(region->mapped(), socket.get()));
  constexpr std::uint32_t kSequence = 1;
  std::optional<Reply> reply;
  if (sender.send(CallKind::kGuests, {}, {}, kSequence)) reply = sender.receive(kSequence);
  if (!reply) return make_error(Code::kUnavailable, "socket {}: the proxy has ended", socket_path);
  if (reply->result != 0) {
    return make_error(Code::kPermissionDenied,
                      "socket {}: the proxy tells its guests to its own user alone", socket_path);
  }
  const auto payload = sender.reply_payload(*reply);
  std::vector<GuestLine> lines(payload.size() / sizeof(GuestLine));
  if (!lines.empty()) std::memcpy(lines.data(), payload.data(), lines.size() * sizeof(GuestLine));
  return lines;
}

Result<std::vector<std::string>> prepare_guest(const std::string& socket_path,
                                               const std::string& program, std::int32_t num_cores) {
  if (std::error_code error; std::filesystem::is_regular_file(program, error)) {
    const Bytes file = SLUICE_TRY(map_file(program));
    SLUICE_TRY(check_program(file.view()).with_context(program));
  }
  SLUICE_TRY(check_proxy(socket_path));
  return guest_environment(socket_path, num_cores);
}

Result<int> run_guest(const std::string& socket_path, std::vector<std::string> words,
                      std::int32_t num_cores) {
  auto variables = SLUICE_TRY(prepare_guest(socket_path, words.front(), num_cores));
  const SpawnPlan plan(SpawnPlan::Terminal::kOurs);
  return take_end(SLUICE_TRY(plan.start(words.front(), words, std::move(variables))));
}

}  // namespace sluice::guest
