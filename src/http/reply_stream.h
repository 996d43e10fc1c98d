// The bytes of a reply that come piece by piece, from whoever answers to the connection.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::http {

/// Safe across threads: one pushes, another takes.
class ReplyStream {
 public:
  /// Limit of bytes that wait until the client reads. Whoever pushes stops there.
  static constexpr std::size_t kMostWaiting = std::size_t{64} << 10;

  /// `resume` is called once after one or several `push` that returned false, when the client has
  /// read: from the connection's thread, which must not wait. Not called for a client that is gone.
  explicit ReplyStream(std::function<void()> resume) : resume_(std::move(resume)) {}

  // For whoever answers.

  /// False where enough waits.
  bool push(std::string_view bytes);
  /// Nothing more comes. `resume` and what it holds are released.
  void end();

  // For the connection.

  /// All that waits; empty: nothing yet, or the end.
  std::string take();
  /// Everything was pushed and taken.
  bool is_over() const;
  /// Calls `on_ready` once, when there is something to take or the end; now if that is so already.
  void wait(std::function<void()> on_ready);

 private:
  mutable std::mutex mutex_;  ///< never held while one of the functions is called
  std::function<void()> resume_;
  std::function<void()> on_ready_;
  std::string waiting_;
  bool is_full_ = false;
  bool is_ended_ = false;
};

}  // namespace sluice::http
