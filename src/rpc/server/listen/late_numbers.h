// Numbers for descriptors that gRPC gets.
#pragma once

namespace sluice::rpc::server {

/// Moves a close-on-exec descriptor to a number that no connection had lately, or leaves it where
/// it is if there is none. Returns the number. gRPC names a connection by it, and a call finds its
/// peer by that name, so a number must not be used again soon after its connection was closed.
/// After 8192 connections the numbers start again, which bounds the table of peers. Safe from any
/// thread.
int move_to_late_number(int fd);

}  // namespace sluice::rpc::server
