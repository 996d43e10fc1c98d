// The process that carries out the device calls of programs.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sandbox/programs/program_process.h"

namespace sluice::sandbox {

struct ProxyStart {
  std::vector<std::string> words;  ///< as ProgramProcess::start; it listens at `socket`
  std::filesystem::path socket;
  uid_t user = 0;  ///< of the programs, who may use the socket
  gid_t group = 0;
};

/// Safe from any thread.
class DeviceProxy {
 public:
  /// Blocks until programs can connect. Fails: as ProgramProcess::start; kUnavailable, with the
  /// proxy's words, where it ends instead.
  static Result<std::shared_ptr<DeviceProxy>> start(ProxyStart start);
  /// Ends the process.
  ~DeviceProxy();
  DeviceProxy(const DeviceProxy&) = delete;
  DeviceProxy& operator=(const DeviceProxy&) = delete;

  const std::filesystem::path& socket() const { return start_.socket; }
  bool has_ended() const;
  /// What it says of its end; empty if it says nothing.
  std::string errors() const;

 private:
  explicit DeviceProxy(ProxyStart start) : start_(std::move(start)) {}
  void hold();
  Status wait_for_socket() const;

  const ProxyStart start_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  bool is_closed_ = false;
  bool is_started_ = false;
  Status started_;
  std::unique_ptr<ProgramProcess> process_;
  std::thread thread_;  ///< started the process, which ends with it
};

}  // namespace sluice::sandbox
