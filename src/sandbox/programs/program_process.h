// One process of a program that serves requests.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/process/pipe.h"
#include "base/result.h"

namespace sluice::sandbox {

/// A process whose input and output belong to its requests.
///
/// A program takes one request: the bytes of its input until they end. What it writes to its output
/// until that ends is the reply, if it exits with 0. A program that *stays* reads the length of a
/// request, 8 bytes with the lowest first, and the bytes; it writes length and bytes of the reply,
/// and reads the next request, until its input ends.
///
/// It ends with this object, with all processes of its session, and with the thread that started
/// it. Used by one thread at a time, which has SIGPIPE blocked or ignored.
class ProgramProcess {
 public:
  /// Starts the file `words[0]` with the words as its argv. The file writes to its descriptor 3 why
  /// it cannot serve, and closes it once it can; it starts a session of its own. Blocks until then.
  /// Fails: kNotFound, kUnavailable.
  static Result<std::unique_ptr<ProgramProcess>> start(const std::vector<std::string>& words);
  ~ProgramProcess();
  ProgramProcess(const ProgramProcess&) = delete;
  ProgramProcess& operator=(const ProgramProcess&) = delete;

  /// Another request may follow after a success, and only if the program stays.
  /// Fails: kDeadlineExceeded, kCancelled
  ///        kInternal           it ended with an error, or wrote what is no reply
  ///        kResourceExhausted  the reply is longer than ReplyBytes::kMost
  Result<std::vector<std::byte>> ask(std::span<const std::byte> request, bool stays,
                                     std::int64_t deadline_ns, const std::stop_token& stop);

  bool has_ended() const;
  /// The last bytes that the program wrote to stderr. Does not block.
  std::string errors();

 private:
  struct Talk;

  ProgramProcess(pid_t id, Pipe input, Pipe output, Pipe errors);
  Status move_bytes(Talk& talk, std::int64_t deadline_ns, const std::stop_token& stop);
  bool write_some(Talk& talk);
  Status read_some(Talk& talk);
  void read_errors();
  Status wait_for_end(std::int64_t deadline_ns, const std::stop_token& stop) const;
  Status failure(std::string_view what);

  const pid_t id_;
  std::optional<FileDescriptor> input_;
  FileDescriptor output_;
  FileDescriptor errors_;
  std::string last_errors_;
  bool have_errors_ended_ = false;
};

}  // namespace sluice::sandbox
