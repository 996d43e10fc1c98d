// Messages between a daemon and its worker that are not inference: JSON, and sometimes a file.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "base/json/json_reader.h"
#include "shm/fd_socket.h"

namespace sluice::worker {

/// Longest message. What is longer travels as a file (text_file).
inline constexpr std::size_t kMaxMessageBytes = 64 * 1024;

/// Fails: kInvalidArgument for what is no JSON object.
Result<nlohmann::json> parse_message(std::string_view text);

/// One end. `send` from one thread at a time, `receive` from one thread at a time.
class Channel {
 public:
  explicit Channel(shm::Fd socket) : socket_(std::move(socket)) {}

  struct Pair {
    shm::Fd one;
    shm::Fd other;
  };
  /// Both ends of a connection that keeps messages apart. Fails: kResourceExhausted.
  static Result<Pair> make_pair();

  struct Message {
    nlohmann::json body;  ///< an object
    shm::Fd fd;           ///< none if none came
  };

  /// `fd`: -1 for none. Fails: kUnavailable when the other end is gone; kInvalidArgument for what
  /// is too long.
  Status send(const nlohmann::json& body, int fd = -1);
  /// Blocks. Fails: kUnavailable when the other end is gone; kInvalidArgument for nonsense.
  Result<Message> receive();
  /// Whoever receives, here or there, finds the other end gone. From any thread.
  void shut_down();

 private:
  const shm::Fd socket_;
  std::vector<std::byte> buffer_;
};

/// A status as a message, and back.
nlohmann::json status_to_json(const Status& status);
Status status_from_json(const nlohmann::json& body);

/// A file in memory that holds `text`, and its text. Fails: kResourceExhausted; kInvalidArgument.
Result<shm::Fd> text_file(const std::string& text);
Result<std::string> read_text_file(int fd);

}  // namespace sluice::worker
