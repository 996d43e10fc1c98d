#include "session/tensor_queue.h"

#include <utility>

namespace sluice::session {

TensorQueue::TensorQueue(terms::TensorSpec spec, bool is_output, std::size_t capacity, Clock& clock,
                         std::function<void()> on_enqueued)
    : spec_(std::move(spec)),
      is_output_(is_output),
      clock_(clock),
      on_enqueued_(std::move(on_enqueued)),
      ring_(capacity) {
  const ir::Shape* shape = spec_.type.is_tensor() ? spec_.type.shape() : nullptr;
  if (shape == nullptr) return;
  ir::Shape unit = *shape;
  // Only the first dimension may be open: the size of a record then tells the number of its rows.
  if (!unit.empty() && !unit.front().is_known()) {
    has_unknown_rows_ = true;
    unit.front() = 1;
  }
  unit_bytes_ = ir::storage_bytes(ir::Type::tensor(spec_.type.element(), unit)).value_or(-1);
}

Status TensorQueue::check(const void* data, std::int64_t size_bytes) const {
  const bool is_rows = has_unknown_rows_ && unit_bytes_ > 0 && size_bytes % unit_bytes_ == 0;
  // The size of an output may depend on values; then the run checks the capacity.
  const bool is_size_right = is_output_ ? has_unknown_rows_ || size_bytes >= unit_bytes_
                                        : is_rows || size_bytes == unit_bytes_;
  if (size_bytes < 0 || !is_size_right) {
    return terms::runtime_error(RuntimeCode::kBadInput, "\"{}\": got {} bytes, {} takes {}{}",
                                spec_.name, size_bytes, spec_.type.to_string(), unit_bytes_,
                                has_unknown_rows_ ? " for each row" : "");
  }
  if (data == nullptr && size_bytes > 0) {
    return terms::runtime_error(RuntimeCode::kBadInput, "\"{}\": its data is null", spec_.name);
  }
  return ok_status();
}

std::vector<std::int64_t> TensorQueue::dims_of(std::int64_t size_bytes) const {
  std::vector<std::int64_t> dims;
  for (const ir::Dim& dim : *spec_.type.shape()) {
    // Rows without bytes, f32[N,0], cannot be counted: a record has none.
    const std::int64_t rows = unit_bytes_ == 0 ? 0 : size_bytes / unit_bytes_;
    dims.push_back(dim.is_known() ? dim.value() : rows);
  }
  return dims;
}

RingResult TensorQueue::push(const Record& record, std::int64_t deadline_ns) {
  while (true) {
    {
      const std::lock_guard lock(producers_);
      const RingResult result = ring_.try_push(record);
      if (result != RingResult::kNotNow) return result;
    }
    if (deadline_ns <= 0 || clock_.now_ns() >= deadline_ns) return RingResult::kNotNow;
    // The wait holds no lock, so that a caller without time to wait is answered at once.
    ring_.wait_for_room(clock_, deadline_ns);
  }
}

Status TensorQueue::enqueue(void* data, std::int64_t size_bytes, QueueCallback on_done,
                            std::int64_t deadline_ns) {
  SLUICE_TRY(check(data, size_bytes));
  switch (push({data, size_bytes, on_done}, deadline_ns)) {
    case RingResult::kDone: break;
    case RingResult::kNotNow:
      return terms::runtime_error(RuntimeCode::kQueueFull, "the queue of \"{}\" is full: {} wait",
                                  spec_.name, ring_.capacity());
    case RingResult::kClosed:
      return terms::runtime_error(RuntimeCode::kFailed, "the queue of \"{}\" is closed",
                                  spec_.name);
  }
  on_enqueued_();
  return ok_status();
}

}  // namespace sluice::session
