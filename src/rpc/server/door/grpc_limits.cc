#include "rpc/server/door/grpc_limits.h"

#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <limits>

namespace sluice::rpc::server {
namespace {

constexpr int kKeepAliveMs = 10'000;
constexpr int kMaxHeaderBytes = 16 << 10;  ///< of a call; tokens and names fit many times
constexpr int kMaxCallsPerConnection = 1024;

}  // namespace

void set_limits(grpc::ServerBuilder& builder, std::int64_t max_message_bytes,
                std::int64_t memory_bytes) {
  const auto limit =
      static_cast<int>(std::min<std::int64_t>(max_message_bytes, std::numeric_limits<int>::max()));
  builder.SetMaxReceiveMessageSize(limit);
  builder.SetMaxSendMessageSize(limit);
  // gRPC would inflate a message without a bound (rpc/wire/coded_message.h).
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  grpc::ResourceQuota room("sluiced");
  room.Resize(static_cast<std::size_t>(memory_bytes));
  builder.SetResourceQuota(room);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxHeaderBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsPerConnection);
  // Counts of calls per connection that nobody reads: the daemon does not serve them.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
}

void set_connection_age(grpc::ServerBuilder& builder, std::int64_t age_ns) {
  if (age_ns <= 0) return;
  constexpr std::int64_t kNsPerMs = 1'000'000;
  const std::int64_t age_ms =
      std::min<std::int64_t>(age_ns / kNsPerMs, std::numeric_limits<int>::max());
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, static_cast<int>(age_ms));
}

}  // namespace sluice::rpc::server
