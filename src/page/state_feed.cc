#include "page/state_feed.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/log/wall_time.h"
#include "base/process/with_lock.h"

namespace sluice::page {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPeriod = std::chrono::seconds(1);
/// Age up to which a text is sent again. Less than the period, so that each second has its own.
constexpr std::int64_t kFreshNs = 900'000'000;

/// The text has no end of line.
std::string event_of(const std::string& text) { return fmt::format("data: {}\n\n", text); }

}  // namespace

StateFeed::StateFeed(const service::Service& service)
    : service_(service), thread_([this] { send_until_closed(); }) {}

activity::Snapshot StateFeed::take() const {
  activity::Snapshot now;
  now.server = service_.server();
  now.health = service_.health();
  auto models = service_.list_models(0);
  if (models.is_ok()) now.models = std::move(*models);
  now.groups = service_.list_groups();
  now.sessions = service_.list_sessions();
  now.statistics = service_.all_statistics();
  now.time_ns = system_clock().now_ns();
  return now;
}

std::shared_ptr<const std::string> StateFeed::text() {
  const std::lock_guard lock(text_mutex_);
  const std::int64_t now_ns = system_clock().now_ns();
  if (text_ != nullptr && now_ns - last_.time_ns < kFreshNs) return text_;
  activity::Snapshot now = take();
  if (text_ == nullptr) last_.time_ns = now.time_ns - now.server.uptime_ns;
  text_ = std::make_shared<const std::string>(
      activity_line(now, activity_between(last_, now), unix_time_s()));
  last_ = std::move(now);
  return text_;
}

Result<StateFeed::Viewing> StateFeed::view(std::function<bool()> may) {
  const std::string event = event_of(*text());
  const auto viewer = std::make_shared<Viewer>(std::move(may));
  // The stream holds the viewer only until its end, and then both go.
  viewer->stream = std::make_shared<http::ReplyStream>([viewer] { viewer->is_full = false; });
  const std::lock_guard lock(mutex_);
  std::erase_if(viewers_, [](const auto& one) { return end_if_over(*one); });
  if (is_closed_ || viewers_.size() >= kMaxViewers) {
    viewer->stream->end();
    return make_error(Code::kResourceExhausted,
                      "{} viewers follow the daemon already; close a page", kMaxViewers);
  }
  send(*viewer, event);
  viewers_.push_back(viewer);
  changed_.notify_all();
  return Viewing{viewer->stream, [viewer] { viewer->has_left = true; }};
}

/// Whether the viewer counts no longer; its stream has ended then.
bool StateFeed::end_if_over(const Viewer& viewer) {
  if (!viewer.has_left && viewer.may()) return false;
  viewer.stream->end();
  return true;
}

/// What the client has not read yet is enough.
void StateFeed::send(Viewer& viewer, const std::string& event) {
  if (viewer.is_full) return;
  viewer.is_full = true;  // before the push, behind which the client may have read already
  if (viewer.stream->push(event)) viewer.is_full = false;
}

/// Sleeps while nobody looks.
void StateFeed::send_until_closed() {
  std::unique_lock lock(mutex_);
  while (!is_closed_) {
    changed_.wait(lock, [this] { return is_closed_ || !viewers_.empty(); });
    if (changed_.wait_for(lock, kPeriod, [this] { return is_closed_; })) return;
    lock.unlock();
    const std::string event = event_of(*text());
    lock.lock();
    send_to_all(event);
  }
}

void StateFeed::send_to_all(const std::string& event) {
  std::erase_if(viewers_, [](const auto& one) { return end_if_over(*one); });
  for (const auto& viewer : viewers_) send(*viewer, event);
}

void StateFeed::close() {
  const auto viewers = with_lock(mutex_, [&] {
    is_closed_ = true;
    return std::exchange(viewers_, {});
  });
  changed_.notify_all();
  for (const auto& viewer : viewers) viewer->stream->end();
  if (thread_.joinable()) thread_.join();
}

}  // namespace sluice::page
