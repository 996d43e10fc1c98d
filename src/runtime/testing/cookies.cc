#include "runtime/testing/cookies.h"

#include <utility>

namespace sluice::runtime::testing {
namespace {

Status stale(Cookie cookie) {
  return terms::runtime_error(RuntimeCode::kInvalidHandle,
                              "no request has cookie {:#x}, or its answer was taken",
                              static_cast<std::uint64_t>(cookie));
}

}  // namespace

Result<Cookie> CookieTable::post(const std::shared_ptr<RequestSink>& sink, Request& request) {
  auto posted = std::make_shared<Posted>();
  posted->sink = sink;
  auto also = std::move(request.on_done);
  // Before the submission, since the answer may come before that returns.
  request.on_done = [posted, also](Reply reply) {
    if (also) also(reply);
    posted->reply = std::move(reply);
    posted->is_done.store(true, std::memory_order_release);
  };
  const auto id = sink->submit(request);
  if (!id.is_ok()) {
    // The caller has its request back as it was.
    request.on_done = std::move(also);
    return id.status();
  }
  posted->id = *id;
  return Cookie(posted_.insert(std::move(posted)));
}

Reply CookieTable::poll(Cookie cookie) {
  const auto posted = posted_.find(static_cast<std::uint64_t>(cookie));
  if (posted == nullptr) return failed_reply(stale(cookie));
  if (!posted->is_done.load(std::memory_order_acquire)) {
    return failed_reply(terms::runtime_error(RuntimeCode::kPending, "the request is not done yet"));
  }
  // If several callers are concurrent, the one that removes the entry gets the reply.
  if (posted_.remove(static_cast<std::uint64_t>(cookie)) == nullptr) {
    return failed_reply(stale(cookie));
  }
  return std::move(posted->reply);
}

Reply CookieTable::wait(Cookie cookie, std::int64_t deadline_ns) {
  if (const auto posted = posted_.find(static_cast<std::uint64_t>(cookie))) {
    posted->sink->wait([&] { return posted->is_done.load(std::memory_order_acquire); },
                       deadline_ns);
  }
  return poll(cookie);
}

std::vector<Cookie> CookieTable::completed(std::span<const Cookie> cookies) const {
  std::vector<Cookie> done;
  for (const Cookie cookie : cookies) {
    const auto posted = posted_.find(static_cast<std::uint64_t>(cookie));
    if (posted == nullptr || posted->is_done.load(std::memory_order_acquire)) {
      done.push_back(cookie);
    }
  }
  return done;
}

Status CookieTable::cancel(Cookie cookie) {
  const auto posted = posted_.find(static_cast<std::uint64_t>(cookie));
  if (posted == nullptr) return stale(cookie);
  posted->sink->cancel(posted->id);
  return ok_status();
}

}  // namespace sluice::runtime::testing
