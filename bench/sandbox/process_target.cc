// One thread owns all sockets: it starts processes, writes what they take without blocking, and
// reads their answers. `send` and `next` meet it at two queues, so that a full socket of one
// function delays neither the sender nor another function.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "target.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared

namespace sluice::bench {
namespace {

/// The descriptor of its socket in a server process.
constexpr int kServerSocket = 3;
/// The engine that is a program of its own.
constexpr std::string_view kCpp = "cpp";

/// A message in either direction: a request's number and its function, and so many bytes of
/// tensors.
struct Header {
  std::uint64_t request = 0;
  std::uint64_t function = 0;
  std::uint64_t size_bytes = 0;
};

class Server {
 public:
  Server(const ProcessOptions& options, std::vector<std::string> models)
      : options_(options), models_(std::move(models)) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() { stop(); }

  int socket() const { return socket_; }
  bool is_running() const { return socket_ >= 0; }
  bool is_idle() const { return num_in_flight_ == 0 && out_.empty(); }
  std::int64_t last_used_ns() const { return last_used_ns_; }
  bool wants_to_write() const { return !out_.empty(); }

  Status start() {
    std::array<int, 2> ends = {};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return internal_error("socketpair: {}", std::strerror(errno));
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    std::vector<std::string> words;
    const bool is_python = options_.engine != kCpp;
    words.push_back(is_python ? options_.python : options_.program);
    if (is_python) words.push_back(options_.server);
    if (options_.batch_rows > 1) {
      words.insert(words.end(), {"--join", std::to_string(options_.batch_rows)});
    }
    if (is_python) words.push_back(options_.engine);
    words.insert(words.end(), models_.begin(), models_.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], kServerSocket);
    const int error = posix_spawnp(&process_, words.front().c_str(), &actions, nullptr,
                                   arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    socket_ = ends[0];
    if (error != 0) return internal_error("{}: {}", words.front(), std::strerror(error));
    return ok_status();
  }

  void stop() {
    if (socket_ < 0) return;
    ::close(std::exchange(socket_, -1));
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    in_.clear();
  }

  void push(const Header& header) {
    const auto* bytes = reinterpret_cast<const char*>(&header);
    out_.insert(out_.end(), bytes, bytes + sizeof(header));
    out_.insert(out_.end(), header.size_bytes, '\0');
    ++num_in_flight_;
    last_used_ns_ = system_clock().now_ns();
  }

  Status write_some() {
    while (!out_.empty()) {
      const ssize_t written =
          ::send(socket_, out_.data() + written_, out_.size() - written_, MSG_NOSIGNAL);
      if (written < 0 && errno == EAGAIN) return ok_status();
      if (written < 0) return internal_error("a server has ended: {}", std::strerror(errno));
      written_ += static_cast<std::size_t>(written);
      if (written_ < out_.size()) continue;
      out_.clear();
      written_ = 0;
    }
    return ok_status();
  }

  Status read_some(std::deque<TargetAnswer>& answers) {
    std::array<char, 65536> buffer;  // NOLINT(*-member-init): recv fills it
    const ssize_t size = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EAGAIN) return ok_status();
    if (size <= 0) return internal_error("a server has ended, see its messages above");
    in_.insert(in_.end(), buffer.begin(), buffer.begin() + size);
    Header header;
    while (in_.size() >= sizeof(header)) {
      std::memcpy(&header, in_.data(), sizeof(header));
      const std::size_t whole = sizeof(header) + header.size_bytes;
      if (in_.size() < whole) break;
      in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(whole));
      answers.push_back({static_cast<std::size_t>(header.request), header.size_bytes > 0});
      --num_in_flight_;
      last_used_ns_ = system_clock().now_ns();
    }
    return ok_status();
  }

 private:
  const ProcessOptions& options_;
  std::vector<std::string> models_;
  int socket_ = -1;
  pid_t process_ = -1;
  std::vector<char> out_;
  std::size_t written_ = 0;  ///< of `out_`
  std::vector<char> in_;
  std::int64_t num_in_flight_ = 0;
  std::int64_t last_used_ns_ = 0;
};

class ProcessTarget final : public Target {
 public:
  ProcessTarget(const std::vector<LoadFunction>& functions, ProcessOptions options)
      : options_(std::move(options)), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    std::vector<std::string> all;
    for (const LoadFunction& function : functions) {
      std::int64_t size_bytes = 0;
      for (const auto& spec : function.signature.inputs) size_bytes += bytes_of(spec);
      input_bytes_.push_back(static_cast<std::uint64_t>(size_bytes));
      all.push_back(options_.engine == "onnxruntime" ? function.onnx : function.package);
    }
    if (options_.is_shared) {
      servers_.push_back(std::make_unique<Server>(options_, all));
    } else {
      for (const std::string& model : all) {
        servers_.push_back(std::make_unique<Server>(options_, std::vector{model}));
      }
    }
  }
  ~ProcessTarget() override {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    wake();
    if (thread_.joinable()) thread_.join();
    ::close(wake_);
  }

  /// Processes that are kept alive answer a request each before the load begins.
  Status start() {
    thread_ = std::thread([this] { run(); });
    if (options_.keep_ns >= 0) return ok_status();
    for (std::size_t i = 0; i < input_bytes_.size(); ++i) SLUICE_TRY(send(i, i));
    for (std::size_t i = 0; i < input_bytes_.size(); ++i) {
      const auto answer = SLUICE_TRY(next());
      if (!answer || !answer->is_ok) return internal_error("a server does not start");
    }
    return ok_status();
  }

  Status open() override {
    const std::lock_guard lock(mutex_);
    is_closed_ = false;
    return failure_;
  }
  Status send(std::size_t request, std::size_t function) override {
    {
      const std::lock_guard lock(mutex_);
      SLUICE_TRY(Status(failure_));
      requests_.emplace_back(request, function);
      ++num_open_;
    }
    wake();
    return ok_status();
  }
  void close() override {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    answered_.notify_all();
  }
  Result<std::optional<TargetAnswer>> next() override {
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [&] {
      return !answers_.empty() || !failure_.is_ok() || (is_closed_ && num_open_ == 0);
    });
    if (!answers_.empty()) {
      const TargetAnswer answer = answers_.front();
      answers_.pop_front();
      --num_open_;
      return std::optional(answer);
    }
    SLUICE_TRY(Status(failure_));
    return std::optional<TargetAnswer>();
  }

 private:
  void wake() const {
    const std::uint64_t one = 1;
    const ssize_t written = ::write(wake_, &one, sizeof(one));
    (void)written;  // the counter is full only if the thread is awake anyway
  }

  void run() {
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (is_over_) return;
      }
      const Status status = turn();
      if (status.is_ok()) continue;
      const std::lock_guard lock(mutex_);
      failure_ = status;
      answered_.notify_all();
      return;
    }
  }

  Status turn() {
    std::vector<pollfd> polled = {{wake_, POLLIN, 0}};
    std::vector<Server*> running;
    for (const auto& server : servers_) {
      if (!server->is_running()) continue;
      const auto events = static_cast<short>(server->wants_to_write() ? POLLIN | POLLOUT : POLLIN);
      polled.push_back({server->socket(), events, 0});
      running.push_back(server.get());
    }
    ::poll(polled.data(), polled.size(), waiting_.empty() ? 100 : 1);
    std::uint64_t count = 0;
    const ssize_t size = ::read(wake_, &count, sizeof(count));
    (void)size;  // nothing to read after a timeout
    for (std::size_t i = 0; i < running.size(); ++i) {
      if (polled[i + 1].revents == 0) continue;
      std::deque<TargetAnswer> answers;
      if ((polled[i + 1].revents & (POLLIN | POLLHUP)) != 0) {
        SLUICE_TRY(running[i]->read_some(answers));
      }
      if ((polled[i + 1].revents & POLLOUT) != 0) SLUICE_TRY(running[i]->write_some());
      const std::lock_guard lock(mutex_);
      for (const TargetAnswer& answer : answers) answers_.push_back(answer);
      if (!answers.empty()) answered_.notify_all();
    }
    SLUICE_TRY(take_requests());
    end_idle();
    return ok_status();
  }

  Status take_requests() {
    {
      const std::lock_guard lock(mutex_);
      waiting_.insert(waiting_.end(), requests_.begin(), requests_.end());
      requests_.clear();
    }
    // A request whose process finds no room waits; those behind it may have theirs.
    std::deque<std::pair<std::size_t, std::size_t>> left;
    for (const auto& [request, function] : waiting_) {
      Server& server = *servers_[options_.is_shared ? 0 : function];
      if (!server.is_running() && !make_room()) {
        left.emplace_back(request, function);
        continue;
      }
      if (!server.is_running()) SLUICE_TRY(server.start());
      server.push({request, options_.is_shared ? function : 0, input_bytes_[function]});
      SLUICE_TRY(server.write_some());
    }
    waiting_ = std::move(left);
    return ok_status();
  }

  /// Whether another process may start; ends the one that has been idle for the longest time.
  bool make_room() {
    std::size_t num_running = 0;
    Server* oldest = nullptr;
    for (const auto& server : servers_) {
      if (!server->is_running()) continue;
      ++num_running;
      if (!server->is_idle()) continue;
      if (oldest == nullptr || server->last_used_ns() < oldest->last_used_ns()) {
        oldest = server.get();
      }
    }
    if (num_running < options_.max_processes) return true;
    if (oldest != nullptr) oldest->stop();
    return oldest != nullptr;
  }

  void end_idle() {
    if (options_.keep_ns < 0) return;
    const std::int64_t now_ns = system_clock().now_ns();
    for (const auto& server : servers_) {
      const bool is_over = now_ns - server->last_used_ns() >= options_.keep_ns;
      if (server->is_running() && server->is_idle() && is_over) server->stop();
    }
  }

  const ProcessOptions options_;
  const int wake_;
  std::vector<std::uint64_t> input_bytes_;                   ///< by function
  std::vector<std::unique_ptr<Server>> servers_;             ///< by function; one if shared
  std::deque<std::pair<std::size_t, std::size_t>> waiting_;  ///< the thread's: without a process
  std::mutex mutex_;                                         ///< guards the members below
  std::condition_variable answered_;
  std::deque<std::pair<std::size_t, std::size_t>> requests_;
  std::deque<TargetAnswer> answers_;
  std::int64_t num_open_ = 0;
  Status failure_;
  bool is_closed_ = false;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Target>> process_target(const std::vector<LoadFunction>& functions,
                                               const ProcessOptions& options) {
  auto target = std::make_unique<ProcessTarget>(functions, options);
  SLUICE_TRY(target->start());
  return std::unique_ptr<Target>(std::move(target));
}

}  // namespace sluice::bench
