#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>  // NOLINT: mkdtemp
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/process/child.h"
#include "guest/launcher/launcher.h"
#include "sluice/cli/command.h"
#include "sluice/cli/figures.h"
#include "sluice/devices/device_table.h"

namespace sluice::tool {
namespace {

/// A folder that only this user reaches, removed at the end.
class SocketFolder {
 public:
  static Result<SocketFolder> create() {
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
    std::string path = std::string(runtime != nullptr ? runtime : "/tmp") + "/sluice-guest-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      return make_error(Code::kUnavailable, "no folder {}: {}", path, std::strerror(errno));
    }
    return SocketFolder(std::move(path));
  }
  SocketFolder(SocketFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  SocketFolder& operator=(SocketFolder&&) = delete;
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;
  ~SocketFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  std::string socket() const { return path_ + "/proxy"; }

 private:
  explicit SocketFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class GuestCommand : public Command {
 public:
  const char* name() const override { return "guest"; }

  void add_options(Options& options) override {
    options.add("action", action_, "What to do").required().one_of({"run", "serve", "list"});
    options.add("program", words_,
                "To run: a program and its arguments; -- before them if one has a dash");
    options.add("--socket", socket_,
                "Socket of the proxy; without it, run starts a proxy of its own");
    options.add("--backend", proxy_.backend, "The backend whose device the proxy opens")
        .one_of({"cuda", "cuda-emulated"})
        .shows_default();
    options
        .add("--memory", proxy_.memory_bytes,
             "Device memory that each guest may have; all by default")
        .takes_size();
    options.add("--transfer-policy", proxy_.transfer_policy, "Order in which the guests' copies go")
        .one_of({"weighted", "round-robin", "deadline", "strict"})
        .shows_default();
    options
        .add("--transfer-blocks-in-flight", proxy_.transfer_blocks_in_flight,
             "Blocks of their copies that go at once, in each direction")
        .between(1, 4)
        .shows_default();
    options.add("--cores", num_cores_, "Multiprocessors that run asks for, the program's alone")
        .positive();
    options.flag("-j,--json", is_json_, "Print what list lists as JSON");
    options.add("--machine", proxy_.machine, "The machine that cuda-emulated stands for");
  }

  Result<int> run() override {
    if (action_ == "serve") return serve();
    if (action_ == "list") return list();
    if (words_.empty()) return invalid_argument("run needs a program");
    // The terminal's signals are the program's to answer.
    for (const int number : {SIGINT, SIGQUIT}) signal(number, SIG_IGN);
    if (!socket_.empty()) return run_guest_of(socket_);
    const SocketFolder folder = SLUICE_TRY(SocketFolder::create());
    const guest::Proxy proxy = SLUICE_TRY(guest::Proxy::start(folder.socket(), proxy_));
    return run_guest_of(folder.socket());
  }

 private:
  Result<int> run_guest_of(const std::string& socket) {
    const int status = SLUICE_TRY(guest::run_guest(socket, words_, num_cores_));
    return exit_code(status);
  }

  Result<int> serve() {
    if (socket_.empty()) return invalid_argument("serve needs --socket PATH");
    if (num_cores_ > 0) return invalid_argument("--cores is of run: each program asks for its own");
    guest::Proxy proxy = SLUICE_TRY(guest::Proxy::start(socket_, proxy_));
    return exit_code(proxy.wait());
  }

  Result<int> list() {
    if (socket_.empty()) return invalid_argument("list needs --socket PATH");
    const auto guests = SLUICE_TRY(guest::list_guests(socket_));
    if (is_json_) {
      print_json(guests);
    } else {
      print_table(guests);
    }
    return 0;
  }

  static void print_table(const std::vector<guest::GuestLine>& guests) {
    constexpr const char* kRow = "{:<9}  {:<12}  {:<9}  {:<10}  {:<10}  {:<9}  {}\n";
    const auto bytes = [](std::uint64_t count) {
      return format_bytes(static_cast<std::int64_t>(count));
    };
    fmt::print(fmt::runtime(kRow), "PROCESS", "AGE", "MEMORY", "CALLS", "LAUNCHES", "TO DEVICE",
               "FROM DEVICE");
    for (const guest::GuestLine& guest : guests) {
      fmt::print(fmt::runtime(kRow), guest.process, describe_age(guest.age_ns),
                 bytes(guest.memory_bytes), guest.num_calls, guest.num_launches,
                 bytes(guest.to_device_bytes), bytes(guest.from_device_bytes));
    }
  }

  static void print_json(const std::vector<guest::GuestLine>& guests) {
    const char* separator = "[";
    for (const guest::GuestLine& guest : guests) {
      fmt::print(R"({}{{"process": {}, "age_ns": {}, "memory_bytes": {}, "num_calls": {}, )"
                 R"("num_launches": {}, "to_device_bytes": {}, "from_device_bytes": {}}})",
                 std::exchange(separator, ",\n "), guest.process, guest.age_ns, guest.memory_bytes,
                 guest.num_calls, guest.num_launches, guest.to_device_bytes,
                 guest.from_device_bytes);
    }
    fmt::print("{}]\n", guests.empty() ? "[" : "");
  }

  std::string action_;
  std::vector<std::string> words_;
  std::string socket_;
  std::int32_t num_cores_ = 0;
  bool is_json_ = false;
  guest::ProxyOptions proxy_;
};

}  // namespace

std::vector<std::unique_ptr<Command>> make_guest_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(std::make_unique<GuestCommand>());
  return commands;
}

}  // namespace sluice::tool
