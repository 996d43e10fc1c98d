#include "guest/wire/hello.h"

#include <poll.h>

#include <cerrno>
#include <span>
#include <utility>

namespace sluice::guest {

Result<shm::Fd> receive_hello(int socket, Hello& hello) {
  std::size_t taken = 0;
  shm::Fd memory;
  const auto bytes = std::as_writable_bytes(std::span(&hello, 1));
  while (taken < bytes.size()) {
    pollfd wanted = {socket, POLLIN, 0};
    if (poll(&wanted, 1, -1) < 0 && errno != EINTR) break;
    shm::Received received = shm::receive_with_fd(socket, bytes.subspan(taken));
    if (received.is_closed) break;
    if (received.fd.is_valid()) memory = std::move(received.fd);
    taken += received.num_bytes;
  }
  if (taken == bytes.size() && memory.is_valid()) return memory;
  return make_error(Code::kUnavailable,
                    "the proxy closed the connection: it has ended, or serves {} guests already, "
                    "its limit; start another with `sluice guest serve --socket PATH`",
                    kMaxGuests);
}

}  // namespace sluice::guest
