// A worker's process, as the daemon sees it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <mutex>
#include <string>

#include "shm/fd_socket.h"

namespace sluice::worker {

/// Started by `start`, gone by `end`. Safe across threads.
class Process {
 public:
  /// Runs `program` with `socket` as its file 3 and no other but the standard ones. The process
  /// ends with the calling thread. Fails: kUnavailable, kNotFound.
  static Result<std::unique_ptr<Process>> start(const std::filesystem::path& program,
                                                const shm::Fd& socket);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { end(); }

  pid_t id() const { return id_; }
  /// Sends SIGKILL, unless it is gone.
  void kill();
  /// Kills it if need be, and waits for its end. How it ended of itself: "signal 9 (SIGKILL)",
  /// "exit code 1".
  std::string end();

 private:
  explicit Process(pid_t id) : id_(id) {}

  const pid_t id_;
  std::mutex mutex_;
  bool is_gone_ = false;
  std::string end_;
};

}  // namespace sluice::worker
