#include "session/model_runner.h"

#include <algorithm>
#include <utility>

#include "base/process/start_thread.h"

namespace sluice::session {
namespace {

std::string list_names(const std::vector<terms::TensorSpec>& specs) {
  std::string names;
  for (const terms::TensorSpec& spec : specs) {
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", spec.name);
  }
  return names;
}

template <typename Value>
Status check_names(const std::map<std::string, Value, std::less<>>& values,
                   const std::vector<terms::TensorSpec>& specs, const terms::Signature& signature) {
  const bool is_input = &specs == &signature.inputs;
  for (const auto& [name, value] : values) {
    const auto is_it = [&name = name](const terms::TensorSpec& spec) { return spec.name == name; };
    if (std::ranges::any_of(specs, is_it)) continue;
    return terms::runtime_error(RuntimeCode::kBadInput, "the model has no {} \"{}\"; it has {}{}",
                                is_input ? "input" : "output", name, list_names(specs),
                                is_input ? terms::fixed_input_hint(signature, name) : "");
  }
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<ModelRunner>> ModelRunner::create(
    std::vector<runtime::RequestSink*> replicas, const terms::RunnerOptions& options) {
  std::unique_ptr<ModelRunner> runner(new ModelRunner(options));
  runner->replicas_ = SLUICE_TRY(ReplicaSet::create(std::move(replicas), options.replicas));
  if (options.has_timer) {
    runner->timer_ = SLUICE_TRY(start_thread([self = runner.get()] { self->keep_time(); }));
  }
  return runner;
}

ModelRunner::~ModelRunner() { shutdown(); }

Result<runtime::Request> ModelRunner::make_request(const NamedInputs& inputs,
                                                   const NamedOutputs& outputs) const {
  const terms::Signature& names = signature();
  SLUICE_TRY(check_names(inputs, names.inputs, names));
  SLUICE_TRY(check_names(outputs, names.outputs, names));
  runtime::Request request;
  for (const terms::TensorSpec& spec : names.inputs) {
    const auto it = inputs.find(spec.name);
    if (it == inputs.end()) {
      if (const auto value = terms::default_of(spec)) {
        request.inputs.push_back(*value);
        continue;
      }
      return terms::runtime_error(RuntimeCode::kBadInput, "input \"{}\" of type {} is missing",
                                  spec.name, spec.type.to_string());
    }
    request.inputs.push_back(it->second);
  }
  for (const terms::TensorSpec& spec : names.outputs) {
    const auto it = outputs.find(spec.name);
    request.outputs.push_back(it == outputs.end() ? terms::OutputMemory{} : it->second);
  }
  return request;
}

runtime::Reply ModelRunner::run(runtime::Request request) {
  std::atomic<bool> is_done = false;
  runtime::Reply reply;
  request.on_done = [&](runtime::Reply answer) {
    reply = std::move(answer);
    is_done.store(true, std::memory_order_release);
  };
  // The caller drives the model itself while it waits; no driver thread needs to wake up.
  request.will_wait = true;
  // shutdown() waits for the count: on_done and the wait below touch this object until the end.
  num_callers_.fetch_add(1, std::memory_order_acq_rel);
  const auto id = enter(request);
  if (id.is_ok()) {
    sink().wait([&] { return is_done.load(std::memory_order_acquire); }, kNoDeadline);
  }
  num_callers_.fetch_sub(1, std::memory_order_acq_rel);
  return id.is_ok() ? std::move(reply) : runtime::failed_reply(id.status());
}

void ModelRunner::run_with_callback(runtime::Request request) {
  const auto id = submit(request);
  if (!id.is_ok()) request.on_done(runtime::failed_reply(id.status()));
}

Result<std::uint64_t> ModelRunner::submit(runtime::Request& request) {
  num_callers_.fetch_add(1, std::memory_order_acq_rel);
  auto id = enter(request);
  if (id.is_ok() && options_.has_timer) {
    // Sequentially consistent with the store in keep_time: either the timer sees the news, or its
    // step sees the request.
    has_news_.store(true, std::memory_order_seq_cst);
    timer_spot_.wake();
  }
  num_callers_.fetch_sub(1, std::memory_order_acq_rel);
  return id;
}

Result<std::uint64_t> ModelRunner::enter(runtime::Request& request) {
  // A deadline of the request itself wins.
  if (options_.timeout_ns > 0 && request.deadline_ns == kNoDeadline) {
    request.deadline_ns = sink().clock().now_ns() + options_.timeout_ns;
  }
  return sink().submit(request);
}

void ModelRunner::keep_time() {
  const auto has_news = [this] { return is_shut_down_.load() || has_news_.load(); };
  while (!is_shut_down_.load()) {
    has_news_.store(false, std::memory_order_seq_cst);
    timer_spot_.wait(sink().clock(), step(), has_news);
  }
}

void ModelRunner::shutdown() {
  const bool is_first = !is_shut_down_.exchange(true);
  timer_spot_.wake();
  if (is_first && timer_.joinable()) timer_.join();
  replicas_->shutdown();
  // Callers in `run` have their replies and are about to return.
  while (num_callers_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
}

}  // namespace sluice::session
