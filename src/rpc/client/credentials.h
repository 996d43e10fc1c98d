// How a client proves who it is, and knows the daemon.
#pragma once

#include <grpcpp/security/credentials.h>

#include <memory>

#include "rpc/client/client.h"

namespace sluice::rpc::client {

/// Reads the files of `options`; none: no TLS.
/// Fails: kInvalidArgument for half of a pair; as reading.
Result<std::shared_ptr<grpc::ChannelCredentials>> credentials_of(const ClientOptions& options);

}  // namespace sluice::rpc::client
