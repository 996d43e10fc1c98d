#include "dispatch/posted_table.h"

#include <utility>

#include "base/no_memory.h"
#include "runtime/handle_table.h"

namespace sluice::dispatch {
namespace {

Status spent(std::uint64_t id) {
  return terms::runtime_error(RuntimeCode::kInvalidHandle,
                              "no request has id {:#x}, or its reply was taken", id);
}

}  // namespace

Result<std::uint64_t> PostedTable::post(const std::shared_ptr<ModelRef>& model,
                                        std::shared_ptr<telemetry::Observation> observation,
                                        runtime::Request& request, RequestLimits limits,
                                        Answer answer) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || posted_.size() >= kMost) {
      return terms::runtime_error(
          is_closed_ ? RuntimeCode::kCancelled : RuntimeCode::kOutOfResources,
          "{} posted requests wait to be taken, {} at most: take their replies first",
          posted_.size(), kMost);
    }
    id = runtime::handle_of(runtime::HandleKind::kPosted, next_number_++);
    posted_[id].answer = std::move(answer);
  }
  const Status status = catch_no_memory([&] {
    const auto flight = flights_.enter(id, model, false, std::move(observation));
    request.on_done = [self = shared_from_this(), id,
                       on_done = std::move(request.on_done)](runtime::Reply reply) {
      on_done(std::move(reply));
      self->finish(id);
    };
    return flights_.post(flight, request, std::move(limits));
  });
  if (status.is_ok()) return id;
  const std::lock_guard lock(mutex_);
  posted_.erase(id);
  return status;
}

void PostedTable::finish(std::uint64_t id) {
  std::function<void()> on_end;
  {
    const std::lock_guard lock(mutex_);
    const auto it = posted_.find(id);
    if (it == posted_.end()) return;  // closed meanwhile
    it->second.is_done = true;
    on_end = std::exchange(it->second.on_end, nullptr);
  }
  if (on_end) on_end();
}

Result<PostedTable::Answer> PostedTable::take(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = posted_.find(id);
  if (it == posted_.end()) return spent(id);
  if (!it->second.is_done) {
    return terms::runtime_error(RuntimeCode::kPending, "the request is not done yet");
  }
  Answer answer = std::move(it->second.answer);
  posted_.erase(it);
  return answer;
}

void PostedTable::await(std::uint64_t id, const void* who, std::function<void()> on_end) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = posted_.find(id);
    if (it != posted_.end() && !it->second.is_done) {
      std::swap(on_end, it->second.on_end);  // one waits at a time: who came before goes
      it->second.who = who;
    }
  }
  if (on_end) on_end();
}

void PostedTable::leave(std::uint64_t id, const void* who) {
  std::function<void()> on_end;
  {
    const std::lock_guard lock(mutex_);
    const auto it = posted_.find(id);
    if (it == posted_.end() || it->second.who != who) return;
    on_end = std::exchange(it->second.on_end, nullptr);
  }
  if (on_end) on_end();
}

Status PostedTable::cancel(std::uint64_t id) {
  {
    const std::lock_guard lock(mutex_);
    if (!posted_.contains(id)) return spent(id);
  }
  flights_.cancel(id);
  return ok_status();
}

void PostedTable::close() {
  std::map<std::uint64_t, Posted> posted;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    posted.swap(posted_);
  }
  flights_.cancel_all();
  for (const auto& [id, one] : posted) {
    if (one.on_end) one.on_end();
  }
}

}  // namespace sluice::dispatch
