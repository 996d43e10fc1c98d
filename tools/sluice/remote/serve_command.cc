#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/process/child.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLookNs = 50'000'000;  // between two looks whether the models are loaded

/// Where a daemon of any user keeps its locks.
std::string lock_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");  // NOLINT(concurrency-mt-unsafe)
  if (runtime != nullptr && *runtime == '/') return std::string(runtime) + "/sluice";
  std::error_code error;
  return (fs::temp_directory_path(error) / fmt::format("sluice-{}", geteuid())).string();
}

/// Blocks the signals that end the command, and the one that says that its daemon has ended. Before
/// there are threads.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

/// A `sluiced` that ends with this process.
class OwnDaemon {
 public:
  /// Requires: the process has one thread.
  static Result<std::unique_ptr<OwnDaemon>> start(std::vector<std::string> words) {
    std::array<int, 2> ends = {-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      return make_error(Code::kUnavailable, "no pipe to the daemon: {}", std::strerror(errno));
    }
    const fs::path program = program_beside("sluiced");
    const pid_t id = fork();
    if (id == 0) execute(program, words, ends[1]);
    ::close(ends[1]);
    FILE* output = fdopen(ends[0], "r");
    if (id < 0 || output == nullptr) {
      return make_error(Code::kUnavailable, "no process for the daemon: {}", std::strerror(errno));
    }
    return std::unique_ptr<OwnDaemon>(new OwnDaemon(id, output));
  }
  OwnDaemon(const OwnDaemon&) = delete;
  OwnDaemon& operator=(const OwnDaemon&) = delete;
  ~OwnDaemon() {
    std::fclose(output_);
    if (id_ > 0) (void)end(SIGKILL);
  }

  /// What follows `what` on the next line that has it: "listening on ", "http on ".
  /// Fails: kUnavailable where the daemon ends first; its log says why.
  Result<std::string> read_address(const std::string& what) {
    std::array<char, 4096> line = {};
    while (std::fgets(line.data(), line.size(), output_) != nullptr) {
      std::string text = line.data();
      const std::size_t at = text.find(what);
      if (at == std::string::npos) continue;
      text.erase(0, at + what.size());
      text.erase(std::min(text.find('\n'), text.size()));
      return text;
    }
    return make_error(Code::kUnavailable, "the daemon did not start; the line above says why");
  }

  /// Whether it has ended of itself.
  bool has_ended() const {
    siginfo_t info = {};
    const int looked = waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT);
    return looked == 0 && info.si_pid == id_;
  }
  void send(int signal) const { ::kill(id_, signal); }
  /// Sends the signal, waits for the end, and returns the exit code.
  int end(int signal) {
    if (signal != 0) send(signal);
    return exit_code(take_end(std::exchange(id_, -1)));
  }

 private:
  OwnDaemon(pid_t id, FILE* output) : id_(id), output_(output) {}

  /// In the child. A group of its own: Ctrl-C is this program's, which asks the daemon to end once.
  [[noreturn]] static void execute(const fs::path& program, std::vector<std::string>& words,
                                   int output) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    dup2(output, STDOUT_FILENO);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    std::fprintf(stderr, "sluice serve: %s: %s\n", program.c_str(), std::strerror(errno));
    _exit(1);
  }

  pid_t id_;
  FILE* output_;
};

class ServeCommand : public Command {
 public:
  const char* name() const override { return "serve"; }

  void add_options(Options& options) override {
    options
        .add("folder", folder_,
             "Folder of models: NAME.onnx, NAME.sluice, or NAME/VERSION/model.onnx; or a "
             "config.json of OpenVINO Model Server")
        .required();
    options.add("--http", http_, "Where HTTP listens, and /metrics: localhost:PORT or unix:/PATH")
        .shows_default();
    options.add("--grpc", grpc_, "Where gRPC listens: localhost:PORT or unix:/PATH")
        .shows_default();
    options
        .add(
            "--poll", poll_seconds_,
            "Seconds between two looks for changes in the folder; 0: a model changes when a client "
            "loads it")
        .between(0, 86400)
        .shows_default();
    options.flag("--shared-memory", shares_memory_,
                 "Let clients on localhost register shared memory of this user");
    options.add("-c,--config", config_, "Settings of the daemon, as `sluiced -c` reads them");
    options.add("-l,--log-level", log_level_, "3 errors, 4 warnings, 5 events, 6 debug, 7 trace")
        .between(3, 7)
        .shows_default();
  }

  Result<int> run() override {
    const sigset_t signals = block_signals();
    std::error_code error;
    fs::path folder = fs::canonical(folder_, error);
    const bool is_list = folder.extension() == ".json" && fs::is_regular_file(folder, error);
    if (is_list) folder = fs::absolute(folder_);  // the daemon follows a link that is turned
    if (error || !(is_list || fs::is_directory(folder, error))) {
      return invalid_argument("{}: is no folder", folder_);
    }
    // In memory: without it a daemon reads the settings of the one that the system runs.
    const FileDescriptor no_settings(memfd_create("sluice-no-settings", 0));
    if (write(no_settings.get(), "{}", 2) != 2) {
      return make_error(Code::kUnavailable, "no memory for a file: {}", std::strerror(errno));
    }
    const auto daemon = SLUICE_TRY(OwnDaemon::start(words_for(folder.string(), no_settings.get())));
    grpc_ = SLUICE_TRY(daemon->read_address("listening on "));
    http_ = SLUICE_TRY(daemon->read_address("http on "));
    fmt::print("gRPC on {}, HTTP and /metrics on {}; Ctrl-C ends\n", grpc_, http_);
    std::fflush(stdout);
    bool is_shown = false;
    while (!daemon->has_ended()) {
      const timespec wait = {0, kLookNs};
      const int signal =
          is_shown ? sigwaitinfo(&signals, nullptr) : sigtimedwait(&signals, nullptr, &wait);
      if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) {
        daemon->send(SIGTERM);
      } else if (!is_shown) {
        is_shown = show_models();
      }
    }
    return daemon->end(0);
  }

 private:
  std::vector<std::string> words_for(const std::string& folder, int no_settings) const {
    std::vector<std::string> words = {
        "sluiced",
        "--repository",
        folder,
        "--listen",
        grpc_,
        "--http",
        http_,
        "--log-console",
        "--log-level",
        std::to_string(log_level_),
        "--repository-poll-seconds",
        std::to_string(poll_seconds_),
        "--config",
        config_.empty() ? fmt::format("/proc/self/fd/{}", no_settings) : config_};
    if (shares_memory_) words.insert(words.end(), {"--loopback-user", std::to_string(geteuid())});
    if (geteuid() != 0 && config_.empty())
      words.insert(words.end(), {"--lock-folder", lock_folder()});
    return words;
  }

  /// False while the daemon loads them. An error is tried again: the daemon may be ending.
  bool show_models() const {
    rpc::client::ClientOptions options;
    options.address = grpc_;
    const auto client = rpc::client::Client::create(options);
    if (!client.is_ok()) return false;
    const auto health = (*client)->health();
    if (!health.is_ok() || !health->is_ready) return false;
    const auto models = (*client)->list_models();
    if (!models.is_ok()) return false;
    for (const terms::ModelEntry& model : *models) {
      fmt::print("serving {}, version {}\n", printable(model.info.name), model.version);
    }
    if (models->empty()) {
      fmt::print("serving no model: see the lines above, and the folder {}\n", folder_);
    } else {
      fmt::print("try: curl {}/v2/models/{}\n", curl_target(),
                 printable(models->front().info.name));
    }
    std::fflush(stdout);
    return true;
  }

  std::string curl_target() const {
    constexpr std::string_view kUnix = "unix:";
    if (!http_.starts_with(kUnix)) return http_;
    return fmt::format("--unix-socket {} localhost", http_.substr(kUnix.size()));
  }

  std::string folder_;
  std::string http_ = "localhost:8000";
  std::string grpc_ = "localhost:8001";
  std::int32_t poll_seconds_ = 0;
  std::int32_t log_level_ = 4;
  bool shares_memory_ = false;
  std::string config_;
};

}  // namespace

std::unique_ptr<Command> make_serve_command() { return std::make_unique<ServeCommand>(); }

}  // namespace sluice::tool
