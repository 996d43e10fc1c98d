// The connection of a guest to its proxy.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "guest/runtime/errors.h"
#include "guest/wire/call_ring.h"
#include "shm/fd_socket.h"
#include "shm/region.h"

namespace sluice::guest {

/// Safe across threads: calls of a process reach the proxy one after the other, and a thread that
/// waits for a reply makes the others wait. It lasts until the process ends.
class Connection {
 public:
  /// Connects at first. A process without a proxy gets errors from every call, and one line on
  /// stderr.
  static Connection& get();

  using Words = std::array<std::uint64_t, 4>;

  /// Waits for the reply; `payload_back` is resized to what came. The error is that of the call, or
  /// an earlier one of a call without reply. A call that gives words or a payload back leaves an
  /// earlier error to the next call, because the caller would lose what it gives.
  Error ask(CallKind kind, const Body& body, std::span<const std::byte> payload = {},
            Words* words = nullptr, std::vector<std::byte>* payload_back = nullptr);
  /// As `ask`, for a reply of exactly `to.size()` bytes.
  Error ask_into(CallKind kind, const Body& body, std::span<std::byte> to);
  /// Does not wait. The error is an earlier one.
  Error post(CallKind kind, const Body& body, std::span<const std::byte> payload = {});
  /// The error of calls without reply since the last time.
  Error take_latched();

 private:
  Connection();
  template <typename UseReply>
  Error call(CallKind kind, const Body& body, std::span<const std::byte> payload,
             bool takes_earlier, const UseReply& use);
  Error state() const;
  Status take_cores();

  std::mutex mutex_;
  shm::Fd socket_;
  std::shared_ptr<shm::Region> memory_;
  std::optional<CallSender> sender_;
  bool is_lost_ = false;
  std::uint32_t sequence_ = 0;
};

}  // namespace sluice::guest
