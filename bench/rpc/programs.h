// Processes that are measured, sluiced among them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::bench {

/// A process of our own; ended with the object.
class Process {
 public:
  /// Runs `program`, which does not return, in a child that ends with this process.
  static Process start(const std::function<void()>& program);
  explicit Process(pid_t id) : id_(id) {}
  Process(Process&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  pid_t id() const { return id_; }

 private:
  pid_t id_;
};

/// The sluiced beside this program, at unix:`folder`/sluice.sock, with more flags.
Process start_daemon(const std::string& folder, const std::vector<std::string>& flags = {});

}  // namespace sluice::bench
