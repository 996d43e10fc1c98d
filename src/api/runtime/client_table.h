// What libsluice asks of libsluice_client, which knows gRPC and is opened at the first connect.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/runtime/runtime.h"

namespace sluice::api {

struct ConnectSettings {
  std::string address;  ///< empty: the daemon's default
  bool has_session = true;
  std::string session;  ///< name in the daemon's lists
  std::int64_t timeout_ns = 0;
  /// PEM files, over TCP; empty: no TLS.
  std::string ca;
  std::string certificate;
  std::string key;
  std::string token;
  std::string session_token;  ///< joins another connection's session; empty: opens one
  bool uses_ring = true;
};

/// C++ types cross this table, so that both libraries must come from one build: `version` is
/// compared.
struct ClientTable {
  const char* version;
  Result<std::unique_ptr<Runtime>> (*connect)(const ConnectSettings& settings);
};

/// The one symbol of libsluice_client.
inline constexpr const char* kClientEntry = "sluice_client_entry";
using ClientEntry = const ClientTable* (*)();

/// Opens libsluice_client beside the library that this code is in, and connects.
/// Fails: kUnimplemented if the library is not installed or of another version.
Result<std::unique_ptr<Runtime>> connect_runtime(const ConnectSettings& settings);

}  // namespace sluice::api
