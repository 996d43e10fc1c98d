#include "http/connections/http2.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "service/clients/refusals.h"

namespace sluice::http {
namespace {

using std::chrono::nanoseconds;

/// How often a look finds clients that are too slow.
constexpr std::int64_t kMostLookNs = 1'000'000'000;

std::int64_t now_ns() { return system_clock().now_ns(); }

}  // namespace

Http2::Http2(Connection& connection)
    : connection_(connection), timer_(connection.stream().get_executor()) {}

void Http2::begin() {
  auto session = Http2Session::create(connection_.shared()->options, connection_.shared()->bodies,
                                      connection_.peer(), hooks(), now_ns());
  if (!session.is_ok()) return connection_.close();
  session_ = std::move(*session);
  look_later();
  if (is_leaving_) session_->say_goodbye();
  if (connection_.buffer().size() > 0) return take();
  go_on();
}

/// Both come back to the strand, even if they are called on it.
Http2Session::Hooks Http2::hooks() {
  const std::weak_ptr<Http2> weak = self();
  return {.compute = [this](Http2Session::StreamId id,
                            Request request) { return compute(id, std::move(request)); },
          .wake =
              [weak, shared = connection_.shared()](Http2Session::StreamId id) {
                post(weak, *shared, [id](Http2& self) {
                  if (self.is_over_) return;
                  self.session_->resume(id, now_ns());
                  self.go_on();
                });
              }};
}

Cancel Http2::compute(Http2Session::StreamId id, Request request) {
  const std::weak_ptr<Http2> weak = self();
  const auto answer = [weak, shared = connection_.shared(), id](Reply reply) {
    post(weak, *shared, [id, reply = std::move(reply)](Http2& self) mutable {
      if (self.is_over_) return;
      self.session_->answer(id, std::move(reply), now_ns());
      self.go_on();
    });
  };
  return connection_.compute(std::move(request), first_of(answer));
}

void Http2::say_goodbye() {
  is_leaving_ = true;
  if (session_ == nullptr || is_over_) return;
  session_->say_goodbye();
  go_on();
}

void Http2::finish() {
  if (session_ == nullptr || is_over_) return;
  session_->finish();
  go_on();
}

void Http2::end() {
  is_over_ = true;
  timer_.cancel();
  if (session_ != nullptr) session_->cancel();
}

/// What lies in the buffer.
void Http2::take() {
  const auto bytes = connection_.buffer().data();
  const Status status =
      session_->take({static_cast<const char*>(bytes.data()), bytes.size()}, now_ns());
  connection_.buffer().consume(bytes.size());
  if (!status.is_ok()) service::count_refused_connection();
  go_on();
}

void Http2::go_on() {
  if (is_over_ || !connection_.is_open()) return;
  connection_.set_idle_since(session_->idle_since_ns());
  if (!is_writing_) {
    unsent_ = session_->send(now_ns());
    if (!unsent_.empty()) write();
  }
  if (!is_writing_ && session_->is_over()) return close_in_order();
  if (!is_reading_ && !(is_writing_ && session_->is_full())) read();
}

void Http2::read() {
  is_reading_ = true;
  connection_.stream().plain().expires_never();  // `look` sees to it; of a write nothing changes
  connection_.stream().async_read_some(connection_.buffer().prepare(kReadBytes),
                                       [self = self()](beast::error_code error, std::size_t num) {
                                         self->is_reading_ = false;
                                         self->connection_.buffer().commit(num);
                                         if (!self->connection_.is_open()) return;
                                         if (self->is_over_) return self->connection_.drain();
                                         if (error) return self->connection_.close();
                                         self->take();
                                       });
}

void Http2::write() {
  is_writing_ = true;
  // For each part anew: a client may read slowly, but not stop.
  connection_.stream().plain().expires_after(nanoseconds(connection_.shared()->options.idle_ns));
  connection_.stream().async_write_some(asio::buffer(unsent_),
                                        [self = self()](beast::error_code error, std::size_t num) {
                                          self->is_writing_ = false;
                                          if (error) return self->connection_.close();
                                          self->unsent_.remove_prefix(num);
                                          if (!self->unsent_.empty()) return self->write();
                                          self->go_on();
                                        });
}

/// Nothing of the session is left. A read may be pending, which draining does itself.
void Http2::close_in_order() {
  is_over_ = true;
  timer_.cancel();
  session_->cancel();
  if (!is_reading_) return connection_.drain();
  beast::error_code ignored;
  connection_.stream().socket().cancel(ignored);
}

void Http2::look_later() {
  const std::int64_t idle_ns = connection_.shared()->options.idle_ns;
  timer_.expires_after(nanoseconds(std::min(kMostLookNs, idle_ns / 2)));
  timer_.async_wait([weak = std::weak_ptr<Http2>(self())](beast::error_code error) {
    if (error) return;
    if (const auto self = weak.lock()) self->look();
  });
}

void Http2::look() {
  if (is_over_) return;
  if (!session_->check_time(now_ns()).is_ok()) service::count_refused_connection();
  look_later();
  go_on();
}

}  // namespace sluice::http
