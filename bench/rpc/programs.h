// The processes that are measured: a bare gRPC echo, and sluiced.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace sluice::bench {

/// A process of our own; ended with the object.
class Process {
 public:
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

/// Answers `Infer` at unix:`path` with the tensors that came: a callback server as sluiced's, with
/// nothing behind it. Requires: this process has not used gRPC yet.
Process start_echo(const std::string& path);

/// The sluiced beside this program, at unix:`folder`/sluice.sock, with more flags.
Process start_daemon(const std::string& folder, const std::vector<std::string>& flags = {});

}  // namespace sluice::bench
