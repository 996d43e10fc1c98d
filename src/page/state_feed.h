// What the daemon is and does, as the page shows it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "activity/activity.h"
#include "base/result.h"
#include "http/call.h"
#include "service/service.h"

namespace sluice::page {

/// Takes snapshots of a service, and writes the activity between two of them. However many clients
/// ask, it takes one snapshot a second. Safe across threads.
class StateFeed {
 public:
  static constexpr std::size_t kMaxViewers = 64;

  /// `service` outlives the feed.
  explicit StateFeed(const service::Service& service);
  StateFeed(const StateFeed&) = delete;
  StateFeed& operator=(const StateFeed&) = delete;
  /// As `close`.
  ~StateFeed() { close(); }

  /// activity_line of now, or of a moment less than a second ago. The first one covers the time
  /// since the daemon's start. Never null.
  std::shared_ptr<const std::string> text();
  /// A stream of the text now and every second, as server-sent events, until the client leaves or
  /// `may` is false, which is asked each time. A client that reads slowly misses some texts.
  /// Fails: kResourceExhausted for more than kMaxViewers.
  struct Viewing {
    std::shared_ptr<http::ReplyStream> stream;
    http::Cancel leave;
  };
  Result<Viewing> view(std::function<bool()> may);
  /// Ends all streams. Blocks. May be called again.
  void close();

 private:
  struct Viewer {
    explicit Viewer(std::function<bool()> is_allowed) : may(std::move(is_allowed)) {}

    const std::function<bool()> may;
    std::atomic<bool> is_full = false;  ///< until the client has read
    std::atomic<bool> has_left = false;
    std::shared_ptr<http::ReplyStream> stream;
  };

  activity::Snapshot take() const;
  void send_until_closed();
  void send_to_all(const std::string& event);
  static bool end_if_over(const Viewer& viewer);
  static void send(Viewer& viewer, const std::string& event);

  const service::Service& service_;
  std::mutex text_mutex_;                    ///< before `mutex_`
  activity::Snapshot last_;                  ///< behind `text_`
  std::shared_ptr<const std::string> text_;  ///< null: there is none yet
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Viewer>> viewers_;
  bool is_closed_ = false;
  std::thread thread_;  ///< last: it uses the others
};

}  // namespace sluice::page
