// The functions of sluice/request.h that make requests and take replies.
#include <utility>

#include "api/functions/open_runtimes.h"
#include "api/functions/reply.h"
#include "api/functions/snapshots.h"
#include "api/tensors.h"
#include "terms/server/trace_context.h"

namespace sluice::api {
namespace {

// Bounds what a wild count makes the library read; no model has as many inputs.
constexpr std::size_t kMaxTensors = 65'536;

struct SharedPart {
  SharedMemory memory;
  sluice_shared_memory public_part = {};
};

Status read_exchange(const sluice_request_options& options, InferCall& call) {
  const auto is_wrong = [](std::int32_t count, const void* items) {
    return count < 0 || static_cast<std::size_t>(count) > kMaxTensors ||
           (items == nullptr && count > 0);
  };
  if (is_wrong(options.num_exchanged, options.exchanged) ||
      is_wrong(options.num_kept, options.kept)) {
    return invalid_argument("an array of exchanged inputs or kept outputs is null or too long");
  }
  for (std::int32_t i = 0; i < options.num_exchanged; ++i) {
    const sluice_exchanged_input& input = options.exchanged[i];
    if (input.name == nullptr || *input.name == '\0' || input.exchange == 0) {
      return invalid_argument("exchanged input {} needs a name and an index", i);
    }
    call.inputs.push_back({input.name, {}, input.exchange});
  }
  for (std::int32_t i = 0; i < options.num_kept; ++i) {
    if (options.kept[i] == nullptr) return invalid_argument("kept output {} has no name", i);
    call.kept_outputs.emplace_back(options.kept[i]);
  }
  call.ttl_ns = options.ttl_ns;
  return ok_status();
}

/// A daemon would begin another trace instead of one that it cannot read.
Status read_trace(const sluice_request_options& options, InferCall& call) {
  if (options.traceparent != nullptr) call.traceparent = options.traceparent;
  if (options.tracestate != nullptr) call.tracestate = options.tracestate;
  if (call.traceparent.empty() || terms::parse_traceparent(call.traceparent)) return ok_status();
  return invalid_argument("traceparent: expected 00-TRACE-SPAN-FLAGS with 32, 16 and 2 hex digits");
}

Result<InferCall> call_of(std::uint64_t model, const sluice_named_array* inputs,
                          std::size_t num_inputs, const sluice_request_options& options) {
  if ((inputs == nullptr && num_inputs > 0) || num_inputs > kMaxTensors ||
      options.num_outputs < 0 || (options.outputs == nullptr && options.num_outputs > 0)) {
    return invalid_argument("an array of inputs or outputs is null, or its length is wrong");
  }
  InferCall call;
  call.model = model;
  for (std::size_t i = 0; i < num_inputs; ++i) {
    const std::string name = inputs[i].name == nullptr ? "" : inputs[i].name;
    call.inputs.push_back(
        {name,
         SLUICE_TRY(
             view_of(inputs[i].array).with_context(fmt::format("input {} \"{}\"", i, name)))});
  }
  for (std::int32_t i = 0; i < options.num_outputs; ++i) {
    const sluice_output_memory& output = options.outputs[i];
    if (output.capacity_bytes < 0) {
      return invalid_argument("output {}: its capacity is {} bytes", i, output.capacity_bytes);
    }
    call.outputs.push_back(
        {output.name == nullptr ? "" : output.name, {output.data, output.capacity_bytes}});
  }
  SLUICE_TRY(read_exchange(options, call));
  call.timeout_ns = options.timeout_ns;
  call.priority = options.priority;
  call.wants_detail = options.wants_detail != 0;
  SLUICE_TRY(read_trace(options, call));
  return call;
}

Status refuse_posted_in_callback(std::uint64_t request) {
  return RequestTable::is_posted(request) ? refuse_in_callback() : ok_status();
}

/// Passes a reply to the user's function. Nothing it throws reaches the thread that runs requests.
void call_back(const sluice_request_options& options, std::uint64_t request, InferReply reply) {
  // Blocking calls of this thread are refused meanwhile: they could wait for this very callback.
  const InCallback mark;
  sluice_reply* made = nullptr;
  const std::int32_t status = guard([&] { return give(std::move(reply), &made); });
  try {
    options.on_done(options.user_data, request, status, made);
  } catch (...) {
    return;  // documented: dropped
  }
}

}  // namespace
}  // namespace sluice::api

using sluice::ok_status;
using sluice::Status;
using sluice::api::Call;
using sluice::api::with_result;
using sluice::api::with_result_blocking;
using sluice::api::with_runtime;

int32_t sluice_runtime_infer(sluice_runtime* runtime, uint64_t model,
                             const sluice_named_array* inputs, size_t num_inputs,
                             const sluice_request_options* options, sluice_reply** reply) {
  return with_result_blocking(runtime, reply, [&](Call& call) -> Status {
    const auto known = sluice::api::read_options(options);
    if (known.on_done != nullptr) {
      return sluice::invalid_argument("on_done is for sluice_runtime_submit");
    }
    const auto wanted = SLUICE_TRY(sluice::api::call_of(model, inputs, num_inputs, known));
    return sluice::api::give(call->infer(wanted), reply);
  });
}

int32_t sluice_runtime_submit(sluice_runtime* runtime, uint64_t model,
                              const sluice_named_array* inputs, size_t num_inputs,
                              const sluice_request_options* options, uint64_t* request) {
  return with_result(runtime, request, [&](Call& call) -> Status {
    const auto known = sluice::api::read_options(options);
    sluice::api::RequestTable::Callback callback;
    if (known.on_done != nullptr) {
      // `known` is a copy: the caller's options need not outlive the call.
      callback = [known](std::uint64_t id, sluice::api::InferReply reply) {
        sluice::api::call_back(known, id, std::move(reply));
      };
    }
    const auto wanted = SLUICE_TRY(sluice::api::call_of(model, inputs, num_inputs, known));
    if (known.is_posted != 0) {
      SLUICE_TRY(sluice::api::refuse_in_callback());
      if (callback || known.num_outputs > 0) {
        return sluice::invalid_argument("a posted request has no on_done and no memory of outputs");
      }
      *request = SLUICE_TRY(call->post(wanted));
      return ok_status();
    }
    *request = SLUICE_TRY(call.requests().submit(*call, wanted, std::move(callback)));
    return ok_status();
  });
}

int32_t sluice_runtime_poll(sluice_runtime* runtime, uint64_t request, sluice_reply** reply) {
  return with_result(runtime, reply, [&](Call& call) -> Status {
    SLUICE_TRY(sluice::api::refuse_posted_in_callback(request));
    return sluice::api::give(SLUICE_TRY(call.requests().poll(*call, request)), reply);
  });
}

int32_t sluice_runtime_wait(sluice_runtime* runtime, uint64_t request, int64_t timeout_ns,
                            sluice_reply** reply) {
  return with_result_blocking(runtime, reply, [&](Call& call) -> Status {
    return sluice::api::give(SLUICE_TRY(call.requests().wait(*call, request, timeout_ns)), reply);
  });
}

int32_t sluice_runtime_cancel(sluice_runtime* runtime, uint64_t request) {
  return with_runtime(runtime, [&](Call& call) -> Status {
    SLUICE_TRY(sluice::api::refuse_posted_in_callback(request));
    return call.requests().cancel(*call, request);
  });
}

int32_t sluice_runtime_share(sluice_runtime* runtime, int64_t size_bytes,
                             const sluice_shared_memory** memory) {
  return with_result_blocking(runtime, memory, [&](Call& call) -> Status {
    auto shared = std::make_shared<sluice::api::SharedPart>();
    shared->memory = SLUICE_TRY(call->share(size_bytes));
    // The C struct lies in the same object as the memory that it describes, and goes with it.
    shared->public_part = {shared->memory.memory.data(), size_bytes};
    sluice::api::give_snapshot(std::move(shared), memory);
    return ok_status();
  });
}
