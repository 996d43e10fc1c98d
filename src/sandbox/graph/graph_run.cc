#include "sandbox/graph/graph_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/no_memory.h"

namespace sluice::sandbox {

using runtime::Reply;
using runtime::Request;
using terms::OutputTensor;
using terms::runtime_error;

namespace {

/// What the functions took together, and where they ran.
void add(terms::ReplyDetail& all, const terms::ReplyDetail& one) {
  all.group = one.group;
  for (const std::int32_t core : one.cores) {
    if (std::ranges::find(all.cores, core) == all.cores.end()) all.cores.push_back(core);
  }
  const auto num_segments = static_cast<std::uint32_t>(all.backends.size());
  all.backends.insert(all.backends.end(), one.backends.begin(), one.backends.end());
  all.queue_ns += one.queue_ns;
  all.copy_ns += one.copy_ns;
  all.copy_out_ns += one.copy_out_ns;
  all.compute_ns += one.compute_ns;
  all.num_ahead += one.num_ahead;
  all.is_joined = all.is_joined || one.is_joined;
  if (all.submitted_ns == 0) all.submitted_ns = one.submitted_ns;
  for (terms::StageTime stage : one.stages) {
    if (stage.kind == terms::StageKind::kCompute) stage.segment += num_segments;
    all.stages.push_back(stage);
  }
}

bool has_memory(const Request& request, std::size_t output) {
  return output < request.outputs.size() && request.outputs[output].data != nullptr;
}

}  // namespace

GraphRun::GraphRun(std::shared_ptr<FunctionGraph> graph, std::uint64_t id)
    : graph_(std::move(graph)),
      id_(id),
      start_ns_(graph_->clock().now_ns()),
      results_(graph_->plan().steps.size()) {}

Status GraphRun::start(Request& request) {
  request_ = std::move(request);
  const Status status = catch_no_memory([this] { return submit(0); });
  if (!status.is_ok()) request = std::move(request_);
  return status;
}

/// No output goes to the caller's memory yet: the caller, or a client in another process, could
/// change it while a function reads it.
Request GraphRun::request_of(std::size_t step) {
  const GraphPlan& plan = graph_->plan();
  Request inner;
  for (const GraphSource& source : plan.steps[step].inputs) {
    if (source.step == GraphSource::kInput) {
      inner.inputs.push_back(request_.inputs[source.index]);
    } else if (source.step == GraphSource::kDefault) {
      const terms::Signature& signature = plan.steps[step].sink->signature();
      inner.inputs.push_back(*terms::default_of(signature.inputs[source.index]));
    } else {
      inner.inputs.push_back(results_[source.step][source.index].tensor.view);
    }
  }
  // Without an owner the caller waits until no device uses the inputs; so do these requests.
  if (request_.memory_owner != nullptr) inner.memory_owner = shared_from_this();
  inner.deadline_ns = request_.deadline_ns;
  inner.max_run_ns = request_.max_run_ns;
  inner.priority = request_.priority;
  inner.wants_detail = request_.wants_detail;
  inner.exchange_owner = request_.exchange_owner;
  inner.sequence = request_.sequence;
  inner.on_done = [self = shared_from_this(), step](Reply reply) {
    self->take(step, std::move(reply));
  };
  return inner;
}

/// The answer may come on another thread before this returns, and with it the next step.
Status GraphRun::submit(std::size_t step) {
  runtime::RequestSink& sink = *graph_->plan().steps[step].sink;
  Request inner = request_of(step);
  {
    const std::lock_guard lock(mutex_);
    if (is_cancelled_) return runtime_error(RuntimeCode::kCancelled, "the request was cancelled");
    step_ = step;
    has_id_ = false;
  }
  const auto id = sink.submit(inner);
  if (!id.is_ok()) return id.status().with_context(where(step));
  bool is_late = false;
  {
    const std::lock_guard lock(mutex_);
    if (step_ == step) {
      step_id_ = *id;
      has_id_ = true;
      is_late = is_cancelled_;
    }
  }
  if (is_late) sink.cancel(*id);
  return ok_status();
}

void GraphRun::cancel() {
  std::size_t step = 0;
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    if (!has_id_) return;  // `submit` sees it
    step = step_;
    id = step_id_;
  }
  graph_->plan().steps[step].sink->cancel(id);
}

std::string GraphRun::where(std::size_t step) const {
  const std::string& name = graph_->plan().steps[step].name;
  if (graph_->plan().has_names) return fmt::format("{}, {}", graph_->name(), name);
  return fmt::format("graph {}, function {}", graph_->name(), name);
}

/// A thread of a function comes here, so a lack of memory becomes the answer.
void GraphRun::take(std::size_t step, Reply reply) {
  const GraphPlan& plan = graph_->plan();
  if (reply.outputs.empty() && reply.code != RuntimeCode::kOk) return fail(step, reply.errors);
  if (reply.code != RuntimeCode::kOk) code_ = reply.code;  // with outputs: some are not numbers
  is_kept_ = is_kept_ && reply.is_kept;
  const bool is_last = step + 1 == plan.steps.size();
  Reply whole;
  const Status status = catch_no_memory([&]() -> Status {
    if (request_.wants_detail) add(detail_, reply.detail);
    for (const GraphSource& source : plan.steps[step].releases) {
      results_[source.step][source.index] = {};
    }
    SLUICE_TRY(keep(step, std::move(reply.outputs)));
    if (!is_last) return submit(step + 1);
    whole = collect();
    return ok_status();
  });
  if (status.is_ok() && is_last) return finish(std::move(whole));
  if (status.is_ok()) return;
  results_.clear();  // no function is at work, and their room is free before the client knows
  finish(runtime::failed_reply(status));
}

/// What the last function gives waits for nobody, so it is the answer's, and counts as that.
Status GraphRun::keep(std::size_t step, std::vector<OutputTensor> outputs) {
  const bool is_counted = graph_->exchange_ != nullptr && request_.exchange_owner != 0 &&
                          step + 1 < graph_->plan().steps.size();
  for (OutputTensor& tensor : outputs) {
    ExchangeTable::Room room;
    if (is_counted) {
      room = SLUICE_TRY(
          graph_->exchange_->reserve(OwnerId{request_.exchange_owner}, tensor.view.size_bytes)
              .with_context(where(step)));
    }
    results_[step].push_back({std::move(tensor), std::move(room)});
  }
  return ok_status();
}

void GraphRun::fail(std::size_t step, const terms::ErrorList& errors) {
  Reply reply;
  for (const terms::ErrorList::Entry& entry : errors.entries()) {
    reply.errors.add(runtime_error(entry.code, "{}: {}", where(step), entry.message));
  }
  reply.code = reply.errors.code();
  finish(std::move(reply));
}

/// After an error results stay until this object goes: a device may still read them. What the reply
/// has counts no more as kept, so that its reader can keep it.
Reply GraphRun::collect() {
  Reply reply;
  reply.code = code_;
  reply.detail = std::move(detail_);
  reply.is_kept = is_kept_;
  for (std::size_t i = 0; i < graph_->plan().outputs.size(); ++i) {
    if (has_memory(request_, i)) {
      const Status status = copy_to_caller(i);
      if (!status.is_ok()) return runtime::failed_reply(status);
    }
    const GraphSource& source = graph_->plan().outputs[i];
    reply.outputs.push_back(results_[source.step][source.index].tensor);
  }
  results_.clear();
  return reply;
}

Status GraphRun::copy_to_caller(std::size_t output) {
  const GraphSource& source = graph_->plan().outputs[output];
  OutputTensor& tensor = results_[source.step][source.index].tensor;
  const terms::OutputMemory& to = request_.outputs[output];
  const std::int64_t size = tensor.view.size_bytes;
  if (size > to.capacity_bytes) {
    return runtime_error(RuntimeCode::kBadInput, "output {} has {} bytes, its memory {}",
                         graph_->plan().signature.outputs[output].name, size, to.capacity_bytes);
  }
  if (size > 0) std::memcpy(to.data, tensor.view.data, static_cast<std::size_t>(size));
  tensor.view.data = to.data;
  tensor.owner = nullptr;
  return ok_status();
}

void GraphRun::finish(Reply reply) {
  const auto on_done = std::exchange(request_.on_done, nullptr);
  runtime::RequestTimes times;
  times.queue_ns = reply.detail.queue_ns;
  times.copy_ns = reply.detail.copy_ns;
  times.compute_ns = reply.detail.compute_ns;
  times.copy_out_ns = reply.detail.copy_out_ns;
  times.total_ns = graph_->clock().now_ns() - start_ns_;
  graph_->record(reply.code, times);  // whoever has the answer finds it counted
  if (on_done) on_done(std::move(reply));
  graph_->leave(id_);
}

}  // namespace sluice::sandbox
