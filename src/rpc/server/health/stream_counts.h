// Streams without an end: how many are open, in all and over one connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace sluice::rpc::server {

/// Counts streams that cost their client nothing and that the daemon serves without a token: no
/// client may take them all. Safe across threads.
class StreamCounts {
 public:
  static constexpr std::size_t kMaxOfAll = 1024;
  static constexpr std::size_t kMaxOfConnection = 16;

  /// Counts as long as somebody holds it, also beyond the life of the counts.
  using Pass = std::shared_ptr<const void>;

  /// `connection`: as CallContext's. Null if there are too many.
  Pass enter(std::uint64_t connection, std::size_t max_of_connection = kMaxOfConnection) {
    if (!state_->enter(connection, max_of_connection)) return nullptr;
    return {state_.get(),
            [state = state_, connection](const void* /*counted*/) { state->leave(connection); }};
  }

 private:
  struct State {
    bool enter(std::uint64_t connection, std::size_t max_of_connection) {
      const std::lock_guard lock(mutex);
      const auto found = of_connection.find(connection);
      const std::size_t num_before = found == of_connection.end() ? 0 : found->second;
      if (num_open >= kMaxOfAll || num_before >= max_of_connection) return false;
      ++of_connection[connection];
      ++num_open;
      return true;
    }
    void leave(std::uint64_t connection) {
      const std::lock_guard lock(mutex);
      --num_open;
      const auto found = of_connection.find(connection);
      if (--found->second == 0) of_connection.erase(found);
    }

    std::mutex mutex;
    std::size_t num_open = 0;
    std::map<std::uint64_t, std::size_t> of_connection;
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace sluice::rpc::server
