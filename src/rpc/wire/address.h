// Where a daemon listens, and where its clients find it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::rpc::wire {

inline constexpr std::string_view kDefaultAddress = "unix:/run/sluice.sock";

struct Address {
  bool is_unix = true;
  std::string path;  ///< of a Unix socket
  std::string host;  ///< else; "::1" without its brackets
  int port = 0;      ///< 0, to listen only: any that is free

  /// "unix:/run/sluice.sock", "localhost:5555", "[::1]:5555": what `parse_address` reads.
  std::string to_string() const;
};

/// "unix:PATH", an absolute path, "HOST:PORT" or "[IPV6]:PORT".
/// Fails: kInvalidArgument, with the forms there are.
Result<Address> parse_address(std::string_view text);

/// Whether only this machine reaches a host of this name: "localhost", "::1", "127.0.0.1".
bool is_loopback(std::string_view host);

}  // namespace sluice::rpc::wire
