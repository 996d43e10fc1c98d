#include "runtime/request/request.h"

#include "base/text/plural.h"
#include "runtime/request/awaited_reply.h"

namespace sluice::runtime {

Reply failed_reply(const Status& status) {
  return {terms::runtime_code_of(status), terms::ErrorList(status), {}, {}};
}

void Request::limit(const Clock& clock, std::int64_t timeout_ns) {
  if (deadline_ns == kNoDeadline && timeout_ns > 0) deadline_ns = deadline_after(clock, timeout_ns);
}

Status Request::fetch_input(std::size_t index) const {
  if (index >= left_inputs.size() || left_inputs[index] == nullptr) return ok_status();
  const Status status = left_inputs[index]->fetch();
  const bool is_lost = terms::runtime_code_of(status) == RuntimeCode::kDeviceError;
  return is_lost ? terms::with_runtime_code(status, RuntimeCode::kFailed) : status;
}

Status Request::fetch_inputs() const {
  for (std::size_t i = 0; i < left_inputs.size(); ++i) SLUICE_TRY(fetch_input(i));
  return ok_status();
}

Status RequestSink::join(const terms::BatchOptions& /*options*/) {
  return terms::runtime_error(RuntimeCode::kInvalid,
                              "requests are joined where the model runs: load it with batch_rows");
}

Reply infer(RequestSink& sink, Request request) {
  AwaitedReply reply;
  request.on_done = reply.on_done();
  // This thread drives the model in `wait`; no other need be woken.
  request.will_wait = true;
  const auto id = sink.submit(request);
  if (!id.is_ok()) return failed_reply(id.status());
  return reply.wait(sink);
}

Status queue_full(std::string_view model, int num_waiting, int queue_limit,
                  std::int64_t retry_after_ns) {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  return terms::runtime_error(
      RuntimeCode::kQueueFull,
      "model \"{}\" has {} waiting, and its queue limit is {}; retry in {} ms", model,
      counted(num_waiting, "request"), queue_limit, (retry_after_ns + kNsPerMs - 1) / kNsPerMs);
}

}  // namespace sluice::runtime
