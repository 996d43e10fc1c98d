// The requests of a function.
#pragma once

#include <memory>
#include <utility>

#include "sandbox/lane.h"

namespace sluice::sandbox {

/// Keeps lane and function alive; after a removal it refuses. Safe from any thread.
class FunctionSink final : public runtime::RequestSink {
 public:
  FunctionSink(std::shared_ptr<Lane> lane, std::shared_ptr<Function> function)
      : lane_(std::move(lane)), function_(std::move(function)) {}

  const std::shared_ptr<Function>& function() const { return function_; }
  const std::shared_ptr<Lane>& lane() const { return lane_; }

  const terms::Signature& signature() const override { return function_->signature; }
  int depth() const override { return function_->load.depth; }
  bool is_full() const override { return lane_->is_full(*function_); }
  Clock& clock() const override { return lane_->clock(); }
  const void* left_on() const override { return lane_->left_on(*function_); }
  Result<std::uint64_t> submit(runtime::Request& request) override {
    return lane_->submit(function_, request);
  }
  bool cancel(std::uint64_t id) override { return lane_->cancel(id); }
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override {
    return lane_->wait(is_done, deadline_ns);
  }
  void tell_waiters() override { lane_->tell_waiters(); }

 private:
  std::shared_ptr<Lane> lane_;
  std::shared_ptr<Function> function_;
};

}  // namespace sluice::sandbox
