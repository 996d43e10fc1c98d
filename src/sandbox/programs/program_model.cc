#include "sandbox/programs/program_model.h"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/no_memory.h"
#include "base/process/start_thread.h"

namespace sluice::sandbox {

using runtime::Reply;
using runtime::Request;
using terms::runtime_error;

namespace {

terms::TensorSpec bytes_named(const char* name, const char* size) {
  terms::TensorSpec spec;
  spec.name = name;
  spec.type = ir::Type::tensor(ir::ElementType::kU8, ir::Shape{ir::Dim::symbol(size)});
  return spec;
}

Status check_input(const std::string& name, const Request& request) {
  const bool is_one = request.inputs.size() == 1;
  if (is_one && request.inputs[0].element == ir::ElementType::kU8 &&
      request.inputs[0].dims.size() == 1) {
    return ok_status();
  }
  return runtime_error(RuntimeCode::kBadInput,
                       "program \"{}\" takes the bytes of a request, u8[N], {} came", name,
                       is_one ? terms::type_of(request.inputs[0]).to_string() : "another number");
}

/// As a host of models says it.
Status as_reply(const std::string& name, const Status& status) {
  RuntimeCode code = RuntimeCode::kCompletedWithError;
  if (status.code() == Code::kDeadlineExceeded) code = RuntimeCode::kTimeout;
  if (status.code() == Code::kCancelled) code = RuntimeCode::kCancelled;
  if (status.code() == Code::kResourceExhausted) code = RuntimeCode::kOutOfResources;
  if (status.code() == Code::kUnavailable || status.code() == Code::kNotFound) {
    code = RuntimeCode::kFailed;
  }
  return runtime_error(code, "function \"{}\": {}", name, status.message());
}

/// Moves the reply to where the request wants it.
Result<terms::OutputTensor> output_of(std::vector<std::byte> bytes, const Request& request) {
  terms::OutputTensor output;
  output.view = {nullptr, std::ssize(bytes), ir::ElementType::kU8, {std::ssize(bytes)}};
  const terms::OutputMemory memory =
      request.outputs.empty() ? terms::OutputMemory() : request.outputs.front();
  if (memory.data != nullptr) {
    if (std::ssize(bytes) > memory.capacity_bytes) {
      return runtime_error(RuntimeCode::kBadInput,
                           "output \"reply\" has {} bytes; the memory for it has {}", bytes.size(),
                           memory.capacity_bytes);
    }
    if (!bytes.empty()) std::memcpy(memory.data, bytes.data(), bytes.size());
    output.view.data = memory.data;
    return output;
  }
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  output.view.data = owner->data();
  output.owner = std::move(owner);
  return output;
}

}  // namespace

const terms::Signature& program_signature() {
  static const terms::Signature kSignature = {.inputs = {bytes_named("request", "N")},
                                              .outputs = {bytes_named("reply", "M")}};
  return kSignature;
}

Result<std::shared_ptr<ProgramModel>> ProgramModel::start(ProgramModelOptions options,
                                                          Clock& clock) {
  std::shared_ptr<ProgramModel> model(new ProgramModel(std::move(options), clock));
  SLUICE_TRY(model->open());
  return model;
}

/// The threads start the processes, because a process ends with the thread that started it.
Status ProgramModel::open() {
  struct First {
    bool is_over = false;
    Status status;
  };
  const auto first = std::make_shared<First>();
  threads_.push_back(SLUICE_TRY(start_thread([this, first] {
    auto process = ProgramProcess::start(options_.words);
    {
      const std::lock_guard lock(mutex_);
      first->status = process.status();
      first->is_over = true;
      if (process.is_ok()) ready_.push_back(std::move(*process));
      changed_.notify_all();
    }
    if (first->status.is_ok()) serve();
  })));
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return first->is_over; });
    if (!first->status.is_ok()) return first->status;
  }
  while (std::ssize(threads_) < options_.depth) {
    threads_.push_back(SLUICE_TRY(start_thread([this] { serve(); })));
  }
  statistics_.count_start();
  return ok_status();
}

void ProgramModel::close() {
  const std::lock_guard once(close_mutex_);
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    for (const auto& task : tasks_) task->stop.request_stop();
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  const std::lock_guard lock(mutex_);
  ready_.clear();
}

Result<std::uint64_t> ProgramModel::submit(Request& request) {
  SLUICE_TRY(check_input(name(), request));
  auto task = std::make_shared<Task>();
  const std::lock_guard lock(mutex_);
  if (is_closed_) {
    return runtime_error(RuntimeCode::kFailed, "program \"{}\" is being stopped", name());
  }
  if (std::ssize(tasks_) >= options_.depth) {
    statistics_.count_refused();
    return runtime::queue_full(name(), static_cast<int>(tasks_.size()), 0, 0);
  }
  task->id = ++last_id_;
  task->submitted_ns = clock_.now_ns();
  task->request = std::move(request);
  tasks_.push_back(task);
  waiting_.push_back(task);
  statistics_.count_accepted();
  changed_.notify_all();
  return task->id;
}

bool ProgramModel::cancel(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(tasks_, [id](const auto& task) { return task->id == id; });
  if (found == tasks_.end()) return false;
  (*found)->stop.request_stop();
  return true;
}

/// Null once the model is closed and all requests are answered.
std::shared_ptr<ProgramModel::Task> ProgramModel::next_task() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_closed_ || !waiting_.empty(); });
  if (waiting_.empty()) return nullptr;
  auto task = std::move(waiting_.front());
  waiting_.pop_front();
  return task;
}

void ProgramModel::serve() {
  sigset_t broken_pipes;  // a program need not read all of a request
  sigemptyset(&broken_pipes);
  sigaddset(&broken_pipes, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipes, nullptr);
  while (const auto task = next_task()) {
    run(*task);
    if (!options_.stays) make_ready();
  }
}

ProgramModel::Process ProgramModel::take_ready() {
  const std::lock_guard lock(mutex_);
  if (ready_.empty()) return nullptr;
  Process process = std::move(ready_.back());
  ready_.pop_back();
  return process;
}

/// Starts the process of the next request before that comes.
void ProgramModel::make_ready() {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
  }
  auto process = ProgramProcess::start(options_.words);
  if (!process.is_ok()) return;  // the next request tries again, and says why
  const std::lock_guard lock(mutex_);
  ready_.push_back(std::move(*process));
}

Result<std::vector<std::byte>> ProgramModel::ask(Task& task) {
  Process process = take_ready();
  // One that stays may have ended between two requests.
  if (process != nullptr && options_.stays && process->has_ended()) process = nullptr;
  if (process == nullptr) process = SLUICE_TRY(ProgramProcess::start(options_.words));
  const std::int64_t now_ns = clock_.now_ns();
  std::int64_t left_ns = task.request.deadline_ns == kNoDeadline
                             ? kNoDeadline
                             : std::max<std::int64_t>(0, task.request.deadline_ns - now_ns);
  for (const std::int64_t limit_ns : {options_.max_run_ns, task.request.max_run_ns}) {
    if (limit_ns > 0) left_ns = std::min(left_ns, limit_ns);
  }
  const terms::TensorView& input = task.request.inputs.front();
  const std::span bytes(static_cast<const std::byte*>(input.data),
                        static_cast<std::size_t>(input.size_bytes));
  auto reply = SLUICE_TRY(process->ask(
      bytes, options_.stays, deadline_after(system_clock(), left_ns), task.stop.get_token()));
  if (options_.stays) {
    const std::lock_guard lock(mutex_);
    ready_.push_back(std::move(process));
  }
  return reply;
}

Reply ProgramModel::compute(Task& task, std::int64_t start_ns) {
  Reply reply;
  const Status status = catch_no_memory([&]() -> Status {
    auto bytes = ask(task);
    if (!bytes.is_ok()) return as_reply(name(), bytes.status());
    reply.outputs.push_back(SLUICE_TRY(output_of(std::move(*bytes), task.request)));
    return ok_status();
  });
  if (!status.is_ok()) reply = runtime::failed_reply(status);
  if (!task.request.wants_detail) return reply;
  reply.detail.group = static_cast<std::uint64_t>(options_.group.value());
  reply.detail.submitted_ns = task.submitted_ns;
  reply.detail.queue_ns = start_ns - task.submitted_ns;
  reply.detail.compute_ns = clock_.now_ns() - start_ns;
  return reply;
}

void ProgramModel::run(Task& task) {
  const std::int64_t start_ns = clock_.now_ns();
  Reply reply = compute(task, start_ns);
  answer(task, std::move(reply), start_ns);
}

void ProgramModel::answer(Task& task, Reply reply, std::int64_t start_ns) {
  const auto on_done = std::move(task.request.on_done);
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(tasks_, [&](const auto& one) { return one.get() == &task; });
    statistics_.count_answer(reply.code);
    const std::int64_t now_ns = clock_.now_ns();
    runtime::RequestTimes times;
    times.queue_ns = start_ns - task.submitted_ns;
    times.compute_ns = now_ns - start_ns;
    times.total_ns = now_ns - task.submitted_ns;
    statistics_.add_busy(times.compute_ns);
    if (reply.code == RuntimeCode::kOk) {
      statistics_.record(times);
      statistics_.record_run(1, 1, times, now_ns);
    }
  }
  // Without the lock: it may submit to this model again.
  if (on_done) on_done(std::move(reply));
  tell_waiters();
}

}  // namespace sluice::sandbox
