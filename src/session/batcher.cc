// Invariants. `rows_waiting_` is the sum of the rows in `line_` that no batch has taken. Only the
// front call of the line may have rows in batches and rows waiting. `open_` covers a batch from the
// moment it leaves the line until nothing touches the batcher on its behalf; `in_flight_` covers
// only the model's part and decides whether another batch may start.
#include "session/batcher.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "session/retry_interval.h"

namespace sluice::session {

/// A caller's request. `rows_started` and `rows_done` are guarded by the batcher's lock.
struct Batcher::Call {
  std::uint64_t id = 0;
  runtime::Request request;
  std::int64_t rows = 0;
  std::int64_t arrived_ns = 0;
  std::int64_t rows_started = 0;
  std::int64_t rows_done = 0;
  runtime::Reply reply;
};

/// The rows of one run of the model.
struct Batcher::Batch {
  struct Piece {
    CallPtr call;
    std::int64_t from_row = 0;  ///< of the call
    std::int64_t at_row = 0;    ///< of the batch
    std::int64_t rows = 0;
  };
  std::vector<Piece> pieces;
  std::int64_t rows = 0;
  bool is_whole_call = false;  ///< the batch is exactly one call: no copies
  std::vector<MutableBytes> inputs;
};

namespace {

/// Bytes of a row of a tensor whose other dimensions are known.
Result<std::int64_t> row_bytes_of(const package::TensorSpec& spec) {
  if (spec.has_default) {
    return invalid_argument(
        "\"{}\" has a default, which has rows of its own: compile with --overridable none to batch",
        spec.name);
  }
  const ir::Shape* shape = spec.type.is_tensor() ? spec.type.shape() : nullptr;
  if (shape == nullptr || shape->empty()) {
    return invalid_argument("\"{}\" is {}: it has no rows to batch by", spec.name,
                            spec.type.to_string());
  }
  const ir::Shape row(shape->begin() + 1, shape->end());
  const auto bytes = ir::storage_bytes(ir::Type::tensor(spec.type.element(), row));
  const bool is_bytewise = ir::element_bits(spec.type.element()) >= 8;
  if (!bytes || !is_bytewise) {
    return invalid_argument(
        "\"{}\" is {}: to be batched, all dimensions but the first must be known", spec.name,
        spec.type.to_string());
  }
  return *bytes;
}

std::byte* bytes_at(void* data, std::int64_t offset) {
  return static_cast<std::byte*>(data) + offset;
}

void copy_bytes(void* target, const void* source, std::int64_t size_bytes) {
  if (size_bytes > 0) std::memcpy(target, source, static_cast<std::size_t>(size_bytes));
}

}  // namespace

Result<std::unique_ptr<Batcher>> Batcher::create(runtime::RequestSink& model,
                                                 const BatchOptions& options) {
  std::unique_ptr<Batcher> batcher(new Batcher(model, options));
  SLUICE_TRY(batcher->prepare());
  return batcher;
}

Status Batcher::prepare() {
  signature_ = model_.signature();
  if (signature_.inputs.empty()) return invalid_argument("a model without inputs has no batches");
  const auto prepare_spec = [&](package::TensorSpec& spec,
                                std::vector<std::int64_t>& row_bytes) -> Status {
    row_bytes.push_back(SLUICE_TRY(row_bytes_of(spec)));
    ir::Shape shape = *spec.type.shape();
    if (shape[0].is_known()) {
      const std::int64_t rows = shape[0].value();
      if (options_.batch_rows == 0) options_.batch_rows = rows;
      if (rows != options_.batch_rows) {
        return invalid_argument("\"{}\" has {} rows, the batch {}", spec.name, rows,
                                options_.batch_rows);
      }
      has_fixed_rows_ = true;
    }
    shape[0] = ir::Dim::symbol("batch");
    spec.type = spec.type.with_shape(shape);
    return ok_status();
  };
  for (auto& spec : signature_.inputs) SLUICE_TRY(prepare_spec(spec, input_row_bytes_));
  for (auto& spec : signature_.outputs) SLUICE_TRY(prepare_spec(spec, output_row_bytes_));
  if (options_.batch_rows < 1) {
    return invalid_argument("the model takes any number of rows: say how many make a batch");
  }
  return ok_status();
}

Batcher::~Batcher() { shutdown(); }

Result<Batcher::CallPtr> Batcher::make_call(runtime::Request& request) const {
  const auto& specs = signature_.inputs;
  if (request.inputs.size() != specs.size()) {
    return runtime::runtime_error(runtime::RuntimeCode::kBadInput,
                                  "got {} inputs, the model takes {}", request.inputs.size(),
                                  specs.size());
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Status status = exec::check_input(specs[i], request.inputs[i]);
    if (!status.is_ok()) return runtime::with_runtime_code(status, runtime::RuntimeCode::kBadInput);
    if (request.inputs[i].dims[0] != request.inputs[0].dims[0]) {
      return runtime::runtime_error(
          runtime::RuntimeCode::kBadInput, "input \"{}\" has {} rows, \"{}\" has {}", specs[i].name,
          request.inputs[i].dims[0], specs[0].name, request.inputs[0].dims[0]);
    }
  }
  const std::int64_t rows = request.inputs[0].dims[0];
  if (rows < 1)
    return runtime::runtime_error(runtime::RuntimeCode::kBadInput, "the request has no rows");
  for (std::size_t i = 0; i < std::min(request.outputs.size(), output_row_bytes_.size()); ++i) {
    const runtime::OutputMemory& memory = request.outputs[i];
    if (memory.data == nullptr || memory.capacity_bytes >= rows * output_row_bytes_[i]) continue;
    return runtime::runtime_error(runtime::RuntimeCode::kOutOfResources,
                                  "output \"{}\" has {} bytes, the memory bound to it {}",
                                  signature_.outputs[i].name, rows * output_row_bytes_[i],
                                  memory.capacity_bytes);
  }
  auto call = std::make_shared<Call>();
  call->rows = rows;
  return call;
}

Result<std::uint64_t> Batcher::submit(runtime::Request& request) {
  const CallPtr call = SLUICE_TRY(make_call(request));
  call->arrived_ns = clock().now_ns();
  if (request.deadline_ns <= call->arrived_ns) {
    return runtime::runtime_error(runtime::RuntimeCode::kTimeout, "the deadline passed {} ns ago",
                                  call->arrived_ns - request.deadline_ns);
  }
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (is_shut_down_)
      return runtime::runtime_error(runtime::RuntimeCode::kFailed, "the runner was shut down");
    id = call->id = next_id_++;
    call->request = std::move(request);
    line_.push_back(call);
    rows_waiting_ += call->rows;
  }
  start_batches();
  return id;
}

void Batcher::start_batches() {
  pump_.run([this] {
    while (in_flight_.load(std::memory_order_acquire) < model_.depth()) {
      auto batch = stalled_ ? std::move(stalled_) : next_batch(clock().now_ns());
      if (!batch) return;
      const Status status = start(batch);
      is_stalled_ =
          !status.is_ok() && runtime::runtime_code_of(status) == runtime::RuntimeCode::kQueueFull;
      if (status.is_ok()) continue;
      if (is_stalled_) {
        stalled_ = std::move(batch);
        return;
      }
      finish(batch, runtime::failed_reply(status));
      open_.fetch_sub(1, std::memory_order_acq_rel);
      tell_waiters();
    }
  });
}

/// Takes the rows of a due batch from the line; null if no batch is due.
std::shared_ptr<Batcher::Batch> Batcher::next_batch(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (line_.empty()) return nullptr;
  const bool is_full = rows_waiting_ >= options_.batch_rows;
  if (!is_full && now_ns - line_.front()->arrived_ns < options_.max_delay_ns) return nullptr;
  auto batch = std::make_shared<Batch>();
  open_.fetch_add(1, std::memory_order_acq_rel);
  while (!line_.empty() && batch->rows < options_.batch_rows) {
    const CallPtr& call = line_.front();
    const std::int64_t rows =
        std::min(call->rows - call->rows_started, options_.batch_rows - batch->rows);
    batch->pieces.push_back({call, call->rows_started, batch->rows, rows});
    call->rows_started += rows;
    batch->rows += rows;
    rows_waiting_ -= rows;
    if (call->rows_started == call->rows) line_.pop_front();
  }
  const bool needs_no_padding = !has_fixed_rows_ || batch->rows == options_.batch_rows;
  batch->is_whole_call = batch->pieces.size() == 1 && needs_no_padding &&
                         batch->pieces[0].rows == batch->pieces[0].call->rows;
  return batch;
}

Status Batcher::start(const std::shared_ptr<Batch>& batch) {
  runtime::Request request;
  const runtime::Request& first = batch->pieces[0].call->request;
  const std::int64_t rows = has_fixed_rows_ ? options_.batch_rows : batch->rows;
  if (batch->is_whole_call) {
    request.inputs = first.inputs;
    request.outputs = first.outputs;
    request.memory_owner = first.memory_owner;
  } else if (batch->inputs.empty()) {
    for (std::size_t i = 0; i < input_row_bytes_.size(); ++i) {
      const std::int64_t row_bytes = input_row_bytes_[i];
      MutableBytes& bytes =
          batch->inputs.emplace_back(static_cast<std::size_t>(rows * row_bytes));  // zeros
      for (const Batch::Piece& piece : batch->pieces) {
        const exec::TensorView& view = piece.call->request.inputs[i];
        copy_bytes(bytes.view().data() + piece.at_row * row_bytes,
                   bytes_at(view.data, piece.from_row * row_bytes), piece.rows * row_bytes);
      }
    }
  }
  for (std::size_t i = 0; i < batch->inputs.size(); ++i) {
    exec::TensorView view = first.inputs[i];
    view.data = batch->inputs[i].view().data();
    view.size_bytes = rows * input_row_bytes_[i];
    view.dims[0] = rows;
    request.inputs.push_back(std::move(view));
  }
  for (const Batch::Piece& piece : batch->pieces) {
    request.priority = std::max(request.priority, piece.call->request.priority);
    request.wants_detail |= piece.call->request.wants_detail;
  }
  request.on_done = [this, batch](runtime::Reply reply) {
    in_flight_.fetch_sub(1, std::memory_order_acq_rel);
    finish(batch, std::move(reply));
    start_batches();
    open_.fetch_sub(
        1, std::memory_order_acq_rel);  // the last access to *this: `shutdown` waits for it
  };
  in_flight_.fetch_add(1, std::memory_order_acq_rel);
  const auto id = model_.submit(request);
  if (id.is_ok()) {
    num_batches_.fetch_add(1, std::memory_order_relaxed);
    num_rows_.fetch_add(batch->rows, std::memory_order_relaxed);
    return ok_status();
  }
  in_flight_.fetch_sub(1, std::memory_order_acq_rel);
  return id.status();
}

namespace {

/// Memory for a call's outputs: memory of the caller, or new.
std::vector<runtime::OutputTensor> make_outputs(
    const package::Signature& signature, const std::vector<std::int64_t>& row_bytes,
    const runtime::Request& request, std::int64_t rows,
    const std::vector<runtime::OutputTensor>& batch_outputs) {
  std::vector<runtime::OutputTensor> outputs;
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    runtime::OutputTensor output;
    output.view = batch_outputs[i].view;
    output.view.dims[0] = rows;
    output.view.size_bytes = rows * row_bytes[i];
    if (i < request.outputs.size() && request.outputs[i].data != nullptr) {
      output.view.data = request.outputs[i].data;
    } else {
      auto memory = std::make_shared<MutableBytes>(static_cast<std::size_t>(rows * row_bytes[i]));
      output.view.data = memory->view().data();
      output.owner = std::move(memory);
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

bool has_outputs(const runtime::Reply& reply, const package::Signature& signature) {
  return reply.outputs.size() == signature.outputs.size();
}

}  // namespace

/// Copies the outputs of each piece, and answers complete calls.
void Batcher::finish(const std::shared_ptr<Batch>& batch, runtime::Reply reply) {
  if (batch->is_whole_call) return batch->pieces[0].call->request.on_done(std::move(reply));
  for (const Batch::Piece& piece : batch->pieces) {
    Call& call = *piece.call;
    {
      const std::lock_guard lock(mutex_);
      if (call.reply.code == runtime::RuntimeCode::kOk) {
        call.reply.code = reply.code;
        call.reply.errors = reply.errors;
      }
      if (call.request.wants_detail) call.reply.detail = reply.detail;
      if (call.reply.outputs.empty() && has_outputs(reply, signature_)) {
        call.reply.outputs =
            make_outputs(signature_, output_row_bytes_, call.request, call.rows, reply.outputs);
      }
    }
    if (has_outputs(reply, signature_)) {
      for (std::size_t i = 0; i < output_row_bytes_.size(); ++i) {
        copy_bytes(bytes_at(call.reply.outputs[i].view.data, piece.from_row * output_row_bytes_[i]),
                   bytes_at(reply.outputs[i].view.data, piece.at_row * output_row_bytes_[i]),
                   piece.rows * output_row_bytes_[i]);
      }
    }
    bool is_complete = false;
    {
      const std::lock_guard lock(mutex_);
      call.rows_done += piece.rows;
      is_complete = call.rows_done == call.rows;
    }
    if (!is_complete) continue;
    const bool is_answer = call.reply.code == runtime::RuntimeCode::kOk ||
                           call.reply.code == runtime::RuntimeCode::kNumericError;
    if (!is_answer) call.reply.outputs.clear();
    call.request.on_done(std::move(call.reply));
  }
}

void Batcher::fail_waiting(const std::function<bool(const Call&)>& is_meant, const Status& status) {
  std::vector<CallPtr> failed;
  {
    const std::lock_guard lock(mutex_);
    const auto is_failed = [&](const CallPtr& call) {
      return call->rows_started == 0 && is_meant(*call);
    };
    std::ranges::copy_if(line_, std::back_inserter(failed), is_failed);
    std::erase_if(line_, is_failed);
    for (const CallPtr& call : failed) rows_waiting_ -= call->rows;
  }
  for (const CallPtr& call : failed) call->request.on_done(runtime::failed_reply(status));
  if (!failed.empty()) tell_waiters();
}

bool Batcher::cancel(std::uint64_t id) {
  bool is_found = false;
  fail_waiting(
      [&](const Call& call) { return call.id == id && (is_found = true); },
      runtime::runtime_error(runtime::RuntimeCode::kCancelled, "the request was cancelled"));
  return is_found;
}

std::int64_t Batcher::flush() {
  const std::int64_t now_ns = clock().now_ns();
  fail_waiting([&](const Call& call) { return call.request.deadline_ns <= now_ns; },
               runtime::runtime_error(runtime::RuntimeCode::kTimeout,
                                      "the deadline passed while it waited"));
  start_batches();
  std::int64_t next_ns = is_stalled_ ? now_ns + kRetryNs : kNoDeadline;
  const std::lock_guard lock(mutex_);
  for (const CallPtr& call : line_) {
    // A batch past its delay waits for a reply of the model, which makes room.
    const std::int64_t due_ns = call->arrived_ns + options_.max_delay_ns;
    next_ns =
        std::min({next_ns, call->request.deadline_ns, due_ns > now_ns ? due_ns : kNoDeadline});
  }
  return next_ns;
}

bool Batcher::wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) {
  while (!is_done()) {
    if (clock().now_ns() >= deadline_ns) return false;
    const std::int64_t next_ns = flush();
    if (is_done()) break;
    (void)model_.wait(is_done, std::min(deadline_ns, next_ns));
  }
  return true;
}

void Batcher::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    is_shut_down_ = true;
    options_.max_delay_ns = 0;
  }
  const Status status =
      runtime::runtime_error(runtime::RuntimeCode::kCancelled, "the runner was shut down");
  fail_waiting([](const Call&) { return true; }, status);
  // Calls with running rows finish: their remaining rows go through the model.
  const auto is_drained = [&] {
    if (open_.load(std::memory_order_acquire) > 0) return false;
    const std::lock_guard lock(mutex_);
    return line_.empty();
  };
  while (!wait(is_drained, kNoDeadline)) {
  }
}

}  // namespace sluice::session
