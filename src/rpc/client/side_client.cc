#include "rpc/client/side_client.h"

#include <poll.h>

#include <algorithm>
#include <span>

#include "base/clock.h"
#include "base/status.h"

namespace sluice::rpc::client {
namespace {

// Far above what an answer takes on a busy machine.
constexpr std::int64_t kAnswerTimeNs = 5'000'000'000;
// How late a passed limit may be noticed.
constexpr int kLookMs = 100;

Result<wire::SideAnswer> read_answer(int socket) {
  wire::SideAnswer answer;
  std::span<std::byte> left = std::as_writable_bytes(std::span(&answer, 1));
  const std::int64_t end_ns = system_clock().now_ns() + kAnswerTimeNs;
  while (!left.empty()) {
    pollfd wait = {socket, POLLIN, 0};
    poll(&wait, 1, kLookMs);
    const shm::Received received = shm::receive_with_fd(socket, left);
    if (received.is_closed || system_clock().now_ns() > end_ns) {
      return make_error(Code::kUnavailable, "the daemon's side socket gives no answer");
    }
    left = left.subspan(received.num_bytes);
  }
  if (answer.magic == wire::kSideMagic && answer.version == wire::kSideVersion) return answer;
  return make_error(Code::kUnavailable, "no daemon is at the side socket");
}

}  // namespace

Result<Handed> hand_over(const std::string& side_socket, const std::string& token,
                         wire::SideKind kind, int fd, std::uint64_t size_bytes) {
  wire::SideRequest request;
  request.kind = static_cast<std::uint16_t>(kind);
  request.size_bytes = size_bytes;
  if (token.size() > request.token.size()) return invalid_argument("the token is too long");
  std::ranges::copy(token, request.token.begin());
  shm::Fd socket = SLUICE_TRY(shm::connect_unix(side_socket));
  SLUICE_TRY(shm::send_with_fd(socket.get(), std::as_bytes(std::span(&request, 1)), fd));
  const wire::SideAnswer answer = SLUICE_TRY(read_answer(socket.get()));
  if (answer.status_code == 0) return Handed{answer.region, std::move(socket)};
  // A daemon of another version may claim more bytes than the field has.
  const std::size_t size = std::min<std::size_t>(answer.message_bytes, answer.message.size());
  return Status(static_cast<Code>(answer.status_code), answer.runtime_code,
                std::string(answer.message.data(), size));
}

}  // namespace sluice::rpc::client
