// Reports work that exceeds its time limit.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace sluice {

/// Watches scopes from a thread of its own. Safe from any thread.
class Watchdog {
 public:
  /// Called on the watchdog's thread, once for each scope that is late.
  using OnLate = std::function<void(const std::string& what)>;

  explicit Watchdog(OnLate on_late);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  /// Requires: no Watch is left.
  ~Watchdog();

  /// Ends with its scope, which does not outlive the watchdog.
  class Watch {
   public:
    Watch(Watchdog& dog, std::uint64_t id) : dog_(dog), id_(id) {}
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() { dog_.end(id_); }

   private:
    Watchdog& dog_;
    const std::uint64_t id_;
  };
  /// `limit_ns` <= 0: none.
  Watch watch(std::string what, std::int64_t limit_ns);

 private:
  struct Watched {
    std::int64_t deadline_ns = 0;
    std::string what;
  };
  void run();
  void end(std::uint64_t id);

  const OnLate on_late_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::uint64_t next_id_ = 0;
  std::map<std::uint64_t, Watched> watched_;
  std::thread thread_;  ///< last: uses the members above
};

}  // namespace sluice
