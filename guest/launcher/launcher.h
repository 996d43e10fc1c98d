// Starts proxies, and programs as their guests.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "guest/wire/calls.h"
#include "shm/fd_socket.h"

namespace sluice::guest {

struct ProxyOptions {
  std::string backend = "cuda";    ///< or "cuda-emulated"
  std::uint64_t memory_bytes = 0;  ///< of the device, for each process that is a guest; 0: all
  std::string machine;             ///< of the emulator; empty: its default
  /// Of guests' copies: the name of a device::TransferPolicy.
  std::string transfer_policy = "weighted";
  std::int32_t transfer_blocks_in_flight = 2;  ///< of guests' copies, in each direction
};

/// A running proxy. It ends with this object, and with the thread that started it. Move-only.
class Proxy {
 public:
  /// Listens at `socket_path` and starts the proxy, which ends at once where it has no device; it
  /// says why on stderr. A socket file without a listener is replaced. Fails: kAlreadyExists where
  /// another listens there; kUnavailable, kNotFound.
  static Result<Proxy> start(const std::string& socket_path, const ProxyOptions& options);
  Proxy(Proxy&& other) noexcept : id_(other.id_), path_(std::move(other.path_)) { other.id_ = -1; }
  Proxy& operator=(Proxy&&) = delete;
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy();

  /// Until it ends; its status, as wait(2) has it.
  int wait();

 private:
  Proxy(pid_t id, std::string path) : id_(id), path_(std::move(path)) {}

  pid_t id_;
  std::string path_;
};

/// The guests of the proxy at `socket_path`, without the caller. Fails: kUnavailable where no proxy
/// answers; kPermissionDenied for another user than the proxy's.
Result<std::vector<GuestLine>> list_guests(const std::string& socket_path);

/// Looks at a program that is to be a guest of the proxy at `socket_path`, and gives its
/// environment: this process's, with the proxy's socket and the guest library in front of others.
/// Waits for the proxy. `num_cores`: multiprocessors that the guest asks the proxy for; 0: it uses
/// all. Fails: kUnavailable where no proxy answers; as check_program.
Result<std::vector<std::string>> prepare_guest(const std::string& socket_path,
                                               const std::string& program,
                                               std::int32_t num_cores = 0);

/// Runs `words` (a program and its arguments) as a guest of the proxy at `socket_path`, with the
/// caller's files, and waits for its end; the status as wait(2) has it. Fails: kNotFound,
/// kUnavailable where it does not start, or no proxy answers; as check_program. `num_cores`: as
/// prepare_guest.
Result<int> run_guest(const std::string& socket_path, std::vector<std::string> words,
                      std::int32_t num_cores = 0);

}  // namespace sluice::guest
