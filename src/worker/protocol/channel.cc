#include "worker/protocol/channel.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "terms/runtime_code.h"

namespace sluice::worker {
namespace {

constexpr std::size_t kMaxTextBytes = 1000;  // what JsonValue::as_text takes
constexpr std::int64_t kMaxFileBytes = std::int64_t{64} << 20;

Status gone() { return make_error(Code::kUnavailable, "the other end is gone"); }

}  // namespace

Result<nlohmann::json> parse_message(std::string_view text) {
  auto body = SLUICE_TRY(parse_json(text));
  if (!body.is_object()) return invalid_argument("a message that is no object");
  return body;
}

Result<Channel::Pair> Channel::make_pair() {
  std::array<int, 2> ends = {-1, -1};
  // Messages keep their borders, and a descriptor arrives with the message that it was sent with.
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return make_error(Code::kResourceExhausted, "no sockets for a worker: {}",
                      std::strerror(errno));
  }
  return Pair{shm::Fd(ends[0]), shm::Fd(ends[1])};
}

Status Channel::send(const nlohmann::json& body, int fd) {
  // Messages of errors may hold bytes of a plug-in that are not UTF-8, on which dump would throw.
  const std::string text = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > kMaxMessageBytes) {
    return invalid_argument("a message of {} bytes for a worker, {} at most", text.size(),
                            kMaxMessageBytes);
  }
  return shm::send_with_fd(socket_.get(), std::as_bytes(std::span(text)), fd);
}

Result<Channel::Message> Channel::receive() {
  buffer_.resize(kMaxMessageBytes);
  shm::Received received;
  // receive_with_fd does not block: a signal may end poll with nothing to read.
  while (received.num_bytes == 0) {
    pollfd wanted = {socket_.get(), POLLIN, 0};
    if (poll(&wanted, 1, -1) < 0 && errno != EINTR) return gone();
    received = shm::receive_with_fd(socket_.get(), buffer_);
    if (received.is_closed) return gone();
  }
  Message message;
  message.body = SLUICE_TRY(parse_message(
      std::string_view(reinterpret_cast<const char*>(buffer_.data()), received.num_bytes)));
  message.fd = std::move(received.fd);
  return message;
}

void Channel::shut_down() { shutdown(socket_.get(), SHUT_RDWR); }

nlohmann::json status_to_json(const Status& status) {
  if (status.is_ok()) return {{"code", 0}};
  return {{"code", static_cast<int>(status.code())},
          {"runtime_code", static_cast<int>(terms::runtime_code_of(status))},
          // The reader refuses longer texts, and an error must arrive.
          {"message", status.message().substr(0, kMaxTextBytes)}};
}

Status status_from_json(const nlohmann::json& body) {
  constexpr int kMaxCode = static_cast<int>(Code::kUnauthenticated);
  const JsonValue value(body, "");
  const auto code = SLUICE_TRY(SLUICE_TRY(value.field("code")).as_int(0, kMaxCode));
  if (code == 0) return ok_status();
  // describe() turns unknown numbers into "failed".
  const auto runtime_code = SLUICE_TRY(value.int_or("runtime_code", 1, 0, 10'000));
  auto message = SLUICE_TRY(value.text_or("message", ""));
  return Status(
      static_cast<Code>(code),
      static_cast<std::int32_t>(terms::describe(static_cast<RuntimeCode>(runtime_code)).code),
      std::move(message));
}

Result<shm::Fd> text_file(const std::string& text) {
  // A file instead of a message: the description of a machine may exceed kMaxMessageBytes.
  shm::Fd fd(memfd_create("sluice-text", MFD_CLOEXEC));
  std::size_t written = 0;
  while (fd.is_valid() && written < text.size()) {
    const ssize_t count = write(fd.get(), text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  if (fd.is_valid() && written == text.size()) return fd;
  return make_error(Code::kResourceExhausted, "no memory for {} bytes: {}", text.size(),
                    std::strerror(errno));
}

Result<std::string> read_text_file(int fd) {
  struct stat info = {};
  if (fd < 0 || fstat(fd, &info) != 0 || info.st_size > kMaxFileBytes) {
    return invalid_argument("no text came, or too long a one");
  }
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t taken = 0;
  while (taken < text.size()) {
    const ssize_t count =
        pread(fd, text.data() + taken, text.size() - taken, static_cast<off_t>(taken));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return invalid_argument("a text ends early");
    taken += static_cast<std::size_t>(count);
  }
  return text;
}

}  // namespace sluice::worker
