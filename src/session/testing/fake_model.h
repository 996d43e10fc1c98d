// A model without a device that answers when a test says so.
#pragma once

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "exec/loaded_model.h"
#include "runtime/request/request.h"

namespace sluice::session::testing {

/// y = 2 x, f32[rows,2] to f32[rows,2]; negative `rows`: any number. Answers in `complete`, or in
/// `wait` if `completes_in_wait`. Safe from any thread.
class FakeModel final : public runtime::RequestSink {
 public:
  FakeModel(int depth, std::int64_t rows, Clock& clock) : depth_(depth), clock_(clock) {
    const ir::Dim leading = rows < 0 ? ir::Dim::symbol("N") : ir::Dim(rows);
    const ir::Type type = ir::Type::tensor(ir::ElementType::kF32, ir::Shape{leading, 2});
    signature_ = {{{"x", type, 0}}, {{"y", type, 0}}};
  }

  const terms::Signature& signature() const override { return signature_; }
  int depth() const override { return depth_; }
  Clock& clock() const override { return clock_; }

  Result<std::uint64_t> submit(runtime::Request& request) override {
    const std::lock_guard lock(mutex_);
    if (!refusal_.is_ok()) return refusal_;
    if (static_cast<int>(requests_.size()) >= depth_) {
      return terms::runtime_error(RuntimeCode::kQueueFull, "full");
    }
    const Status status = exec::check_input(signature_.inputs[0], request.inputs.at(0));
    if (!status.is_ok()) return terms::with_runtime_code(status, RuntimeCode::kBadInput);
    ++num_submitted_;
    rows_seen_.push_back(request.inputs[0].dims[0]);
    requests_.push_back(std::move(request));
    if (completes_in_wait) changed_.notify_all();
    return num_submitted_;
  }
  bool cancel(std::uint64_t) override { return false; }

  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override {
    while (!is_done()) {
      if (completes_in_wait && complete()) continue;
      std::unique_lock lock(mutex_);
      if (is_done()) return true;
      if (clock_.now_ns() >= deadline_ns) return false;
      clock_.wait_until(lock, changed_, deadline_ns);
    }
    return true;
  }

  /// Answers the oldest request; false if there is none.
  bool complete(const Status& status = ok_status()) {
    runtime::Request request;
    {
      const std::lock_guard lock(mutex_);
      if (requests_.empty()) return false;
      request = std::move(requests_.front());
      requests_.pop_front();
    }
    runtime::Reply reply = status.is_ok() ? compute(request) : runtime::failed_reply(status);
    request.on_done(std::move(reply));
    tell_waiters();
    return true;
  }

  void tell_waiters() override {
    { const std::lock_guard lock(mutex_); }
    changed_.notify_all();
  }

  /// What `submit` answers from now on.
  void refuse(Status status) {
    const std::lock_guard lock(mutex_);
    refusal_ = std::move(status);
  }
  std::size_t num_waiting() const {
    const std::lock_guard lock(mutex_);
    return requests_.size();
  }
  std::uint64_t num_submitted() const {
    const std::lock_guard lock(mutex_);
    return num_submitted_;
  }
  /// Rows of every request there was.
  std::vector<std::int64_t> rows_seen() const {
    const std::lock_guard lock(mutex_);
    return rows_seen_;
  }
  const void* input_address() const { return requests_.front().inputs[0].data; }

  bool completes_in_wait = false;

 private:
  static runtime::Reply compute(const runtime::Request& request) {
    const terms::TensorView& x = request.inputs[0];
    terms::OutputTensor y = {x, nullptr};
    const std::size_t count = static_cast<std::size_t>(x.size_bytes) / sizeof(float);
    if (!request.outputs.empty() && request.outputs[0].data != nullptr) {
      y.view.data = request.outputs[0].data;
    } else {
      auto memory = std::make_shared<std::vector<float>>(count);
      y.view.data = memory->data();
      y.owner = std::move(memory);
    }
    for (std::size_t i = 0; i < count; ++i) {
      static_cast<float*>(y.view.data)[i] = 2 * static_cast<const float*>(x.data)[i];
    }
    return {RuntimeCode::kOk, {}, {std::move(y)}, {}};
  }

  int depth_;
  Clock& clock_;
  terms::Signature signature_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<runtime::Request> requests_;
  std::vector<std::int64_t> rows_seen_;
  std::uint64_t num_submitted_ = 0;
  Status refusal_;
};

/// Rows of two equal floats each, counting up from `first`.
inline std::vector<float> rows(std::int64_t count, float first) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.insert(values.end(), 2, first + static_cast<float>(i));
  return values;
}

inline std::vector<float> doubled(std::vector<float> values) {
  for (float& value : values) value *= 2;
  return values;
}

inline terms::TensorView view_of(std::vector<float>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return {values.data(), count * 4, ir::ElementType::kF32, {count / 2, 2}};
}

inline std::vector<float> floats(const terms::OutputTensor& output) {
  const auto* data = static_cast<const float*>(output.view.data);
  return {data, data + output.view.size_bytes / 4};
}

}  // namespace sluice::session::testing
