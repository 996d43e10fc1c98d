// Reads a tensor that a daemon of another host offers.
#pragma once

#include <stop_token>

#include "rpc/client/client.h"

namespace sluice::rpc::client {

/// Over a connection of its own to `peer.address`, with the certificates and the token of `peer`.
/// If the connection is lost after it brought bytes, the next one goes on behind them. Calls
/// `take_room` with the size in bytes before it allocates. Blocks; ends soon after a stop is
/// requested, and when nothing has come for `idle_ns`. Safe from any thread.
/// Fails: kUnavailable if nobody answers there in time; what the other daemon says; what
/// `take_room` says; kCancelled; kDeadlineExceeded; kInternal for an answer that is none.
Result<terms::OutputTensor> fetch_tensor(const ClientOptions& peer, std::uint64_t exchange,
                                         const std::string& key, const terms::TakeRoom& take_room,
                                         std::int64_t idle_ns, const std::stop_token& stop);

}  // namespace sluice::rpc::client
