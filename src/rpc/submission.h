// A request where it is being worked on, shared by its call and whoever cancels it.
#pragma once

#include <atomic>
#include <memory>

#include "proto/sluice/v1/inference.pb.h"
#include "runtime/request.h"

namespace sluice::rpc {

/// Whoever submits and whoever cancels do so at the same time, on any threads.
class Submission {
 public:
  /// Before it is submitted there.
  void set_sink(std::shared_ptr<runtime::RequestSink> sink) { sink_ = std::move(sink); }
  const runtime::RequestSink& sink() const { return *sink_; }

  /// It was taken, under this id.
  void set_id(std::uint64_t id) {
    id_.store(id);
    has_id_.store(true);
    cancel_if_both();
  }
  /// By whoever answers, last.
  void set_answered() { is_answered_.store(true); }
  /// Works at the sink until then; after set_id.
  void wait_until_answered() {
    sink_->wait([this] { return is_answered_.load(); }, kNoDeadline);
  }
  void cancel() {
    is_cancelled_.store(true);
    cancel_if_both();
  }

 private:
  /// Both sides call it after they stored theirs: one of them sees both.
  void cancel_if_both() {
    if (has_id_.load() && is_cancelled_.load()) sink_->cancel(id_.load());
  }

  std::shared_ptr<runtime::RequestSink> sink_;
  std::atomic<std::uint64_t> id_ = 0;
  std::atomic<bool> has_id_ = false;
  std::atomic<bool> is_cancelled_ = false;
  std::atomic<bool> is_answered_ = false;
};

}  // namespace sluice::rpc
