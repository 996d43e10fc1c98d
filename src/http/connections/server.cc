#include "http/connections/server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <thread>
#include <vector>

#include "base/process/start_thread.h"
#include "http/connections/connection.h"

namespace sluice::http {
namespace {

using WorkGuard = asio::executor_work_guard<asio::io_context::executor_type>;

int family_of(int fd) {
  int family = AF_UNSPEC;
  socklen_t size = sizeof(family);
  getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size);
  return family;
}

/// A thread and its connections. They stay with it: threads that share connections hand the wait
/// for the next event to each other, which wakes one of them for each request.
struct Loop {
  asio::io_context io{1};  // so many threads
  WorkGuard work{io.get_executor()};
  std::thread thread;
};

/// Lock order: `mutex_`, then Shared's.
class AsioServer final : public Server {
 public:
  AsioServer(const ServerOptions& options, Handler handler) : shared_(std::make_shared<Shared>()) {
    shared_->options = options;
    shared_->handler = std::move(handler);
    shared_->bodies = std::make_shared<ByteBudget>(options.all_body_bytes);
  }
  ~AsioServer() override { shutdown(0); }

  /// Once. Fails: as start_thread.
  Status start_threads() {
    for (int i = 0; i < shared_->options.num_threads; ++i) {
      Loop& loop = *loops_.emplace_back(std::make_unique<Loop>());
      loop.thread = SLUICE_TRY(start_thread([&loop] { run(loop.io); }));
    }
    return ok_status();
  }

  void add(int fd, const terms::Peer& peer, tls::Context tls) override {
    const std::lock_guard lock(mutex_);
    if (is_over_) {
      close(fd);
      return;
    }
    std::erase_if(connections_, [](const auto& one) { return one.expired(); });
    if (connections_.size() >= shared_->options.max_connections && !make_room()) {
      close(fd);
      return;
    }
    asio::io_context& io = loops_[turn_++ % loops_.size()]->io;
    const auto connection =
        std::make_shared<Connection>(shared_, io, fd, family_of(fd), peer, std::move(tls));
    connections_.push_back(connection);
    connection->start();
  }

  void say_goodbye() override {
    const std::lock_guard lock(mutex_);
    for (const auto& one : connections_) {
      if (const auto connection = one.lock()) connection->say_goodbye();
    }
  }

  std::size_t num_connections() override {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(connections_, [](const auto& one) { return !one.expired(); }));
  }

  void shutdown(std::int64_t grace_ns) override {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(is_over_, true)) return;
      for (const auto& one : connections_) {
        if (const auto connection = one.lock()) connection->finish();
      }
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(grace_ns);
    while (has_connections() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (const auto& one : connections_) {
      if (const auto connection = one.lock()) connection->stop();
    }
    // Connections end as their last operation does; then the threads have nothing left.
    for (const auto& loop : loops_) loop->work.reset();
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->is_over = true;  // answers that come later are dropped
    }
    for (const auto& loop : loops_) {
      if (loop->thread.joinable()) loop->thread.join();
    }
  }

 private:
  /// What a connection throws, such as for lack of memory, ends it alone.
  static void run(asio::io_context& io) {
    while (true) {
      try {
        io.run();
        return;
      } catch (const std::exception&) {
        continue;
      }
    }
  }

  /// Ends the connection that has been without a request for the longest, so that silent ones
  /// cannot keep out others. False if all have one.
  bool make_room() {
    std::shared_ptr<Connection> longest;
    std::int64_t since_ns = 0;
    auto place = connections_.end();
    for (auto it = connections_.begin(); it != connections_.end(); ++it) {
      auto connection = it->lock();
      const std::int64_t its_ns = connection ? connection->without_request_since_ns() : 0;
      if (its_ns == 0 || (since_ns != 0 && its_ns >= since_ns)) continue;
      since_ns = its_ns;
      longest = std::move(connection);
      place = it;
    }
    if (longest == nullptr) return false;
    longest->stop();
    connections_.erase(place);  // it counts no longer
    return true;
  }

  bool has_connections() const {
    return std::ranges::any_of(connections_, [](const auto& one) { return !one.expired(); });
  }

  std::vector<std::unique_ptr<Loop>> loops_;  ///< no longer changed once their threads began
  const std::shared_ptr<Shared> shared_;
  std::mutex mutex_;
  bool is_over_ = false;
  std::size_t turn_ = 0;                              ///< of the loops, for the next connection
  std::list<std::weak_ptr<Connection>> connections_;  ///< no longer changed once it is over
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, Handler handler) {
  auto server = std::make_unique<AsioServer>(options, std::move(handler));
  SLUICE_TRY(server->start_threads());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace sluice::http
