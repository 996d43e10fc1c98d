// A model for tests that answers when the test says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/request/request.h"

namespace sluice::dispatch::testing {

/// Keeps requests until `answer`. `submit` and `size` are safe across threads.
class KeepingSink final : public runtime::RequestSink {
 public:
  const terms::Signature& signature() const override { return signature_; }
  int depth() const override { return 1; }
  Clock& clock() const override { return system_clock(); }
  Result<std::uint64_t> submit(runtime::Request& request) override {
    if (refusal) return *refusal;
    if (has_no_memory) throw std::bad_alloc();
    const std::lock_guard lock(mutex_);
    requests.push_back(std::move(request));
    return requests.size();
  }
  bool cancel(std::uint64_t /*id*/) override { return false; }
  bool wait(const std::function<bool()>& is_done, std::int64_t /*deadline_ns*/) override {
    return is_done();
  }
  void tell_waiters() override {}

  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return requests.size();
  }
  void answer(std::size_t i) {
    std::exchange(requests[i].on_done, nullptr)(runtime::Reply{RuntimeCode::kOk, {}, {}, {}});
  }

  terms::Signature signature_;
  std::optional<Status> refusal;
  bool has_no_memory = false;
  std::vector<runtime::Request> requests;

 private:
  std::mutex mutex_;
};

}  // namespace sluice::dispatch::testing
