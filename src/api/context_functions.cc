// The functions of sluice/sluice.h that take a context.
#include <span>
#include <vector>

#include "api/last_error.h"
#include "api/model.h"
#include "api/read_options.h"
#include "base/clock.h"
#include "sluice/sluice.h"

namespace sluice::api {
namespace {

Status set_input(sluice_context& context, const char* name, const sluice_array* given,
                 const exec::DeviceName* device = nullptr) {
  const auto index = SLUICE_TRY(find_input(*context.open, name));
  // Null: back to the default of the signature.
  if (given == nullptr) return context.context.reset_input(index);
  const sluice_array& array = *given;
  const SpecStorage& spec = *context.open->inputs[index];
  if (!context.open->loaded.signature().inputs[index].type.is_tensor()) {
    return invalid_argument("input \"{}\" is a {}; sluice_context_set_input_elements sets it",
                            spec.name, spec.type);
  }
  // A member, so that its vector of dimensions keeps its memory from call to call.
  SLUICE_TRY(read_view(array, context.given));
  return device != nullptr ? context.context.set_device_input(index, context.given, *device)
                           : context.context.set_input(index, context.given);
}

Status bind_output(sluice_context& context, const char* name, void* data, std::int64_t capacity,
                   const exec::DeviceName* device = nullptr) {
  const auto index = SLUICE_TRY(find_spec(context.open->outputs, name, "output"));
  return device != nullptr ? context.context.bind_device_output(index, data, capacity, *device)
                           : context.context.bind_output(index, data, capacity);
}

Status keep_states(sluice_context& context, std::span<const char* const> inputs,
                   std::span<const char* const> outputs) {
  std::vector<exec::StatePair> pairs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto from = SLUICE_TRY(find_input(*context.open, inputs[i]));
    const auto to = SLUICE_TRY(find_spec(context.open->outputs, outputs[i], "output"));
    pairs.push_back({from, to});
  }
  return context.context.keep_states(pairs);
}

Status get_output(sluice_context& context, const char* name, sluice_array& array) {
  const auto index = SLUICE_TRY(find_spec(context.open->outputs, name, "output"));
  const SpecStorage& spec = *context.open->outputs[index];
  if (!context.open->loaded.signature().outputs[index].type.is_tensor()) {
    return invalid_argument("output \"{}\" is a {}; sluice_context_output_element reads it",
                            spec.name, spec.type);
  }
  SLUICE_TRY(context.context.bring_output(index));
  const terms::TensorView& view = context.context.output(index);
  if (view.element == ir::ElementType::kUndefined) {
    return make_error(Code::kFailedPrecondition,
                      "output \"{}\" has no tensor: the context has not run, or it was taken",
                      spec.name);
  }
  array = array_of(view);
  return ok_status();
}

Result<std::int64_t> deadline_of(const sluice_run_options* given) {
  const sluice_run_options options = read_options(given);
  if (options.timeout_ns < 0) return invalid_argument("timeout_ns is {}", options.timeout_ns);
  if (options.timeout_ns == 0) return kNoDeadline;
  return deadline_after(system_clock(), options.timeout_ns);
}

Status run(sluice_context& context, const sluice_run_options* options) {
  const std::int64_t deadline_ns = SLUICE_TRY(deadline_of(options));
  // One thread at a time uses a context: a second call is an error, not a wait.
  const auto use = SLUICE_TRY(ContextUse::take(context.control, /*is_run=*/true));
  context.context.set_checkpoint([&] { return context.control.check(deadline_ns); });
  SLUICE_TRY(context.context.run());
  // A run of one segment has no checkpoint within, so the deadline is compared once more.
  SLUICE_TRY(context.control.check(deadline_ns));
  context.has_run = true;
  return ok_status();
}

}  // namespace
}  // namespace sluice::api

using sluice::api::ContextUse;
using sluice::api::guard;
using sluice::api::null_argument;

int32_t sluice_context_create(sluice_model* model, sluice_context** context) {
  return guard([&]() -> sluice::Status {
    if (model == nullptr || context == nullptr) return null_argument("model or context");
    *context = nullptr;
    auto created = SLUICE_TRY(model->open->loaded.create_context());
    *context = new sluice_context{model->open, std::move(created)};
    return sluice::ok_status();
  });
}

void sluice_context_free(sluice_context* context) { delete context; }

int32_t sluice_context_set_input(sluice_context* context, const char* name,
                                 const sluice_array* array) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr) return null_argument("context");
    const auto use = SLUICE_TRY(ContextUse::take(context->control));
    return sluice::api::set_input(*context, name, array);
  });
}

int32_t sluice_context_bind_output(sluice_context* context, const char* name, void* data,
                                   int64_t capacity_bytes) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr) return null_argument("context");
    const auto use = SLUICE_TRY(ContextUse::take(context->control));
    return sluice::api::bind_output(*context, name, data, capacity_bytes);
  });
}

int32_t sluice_context_keep_states(sluice_context* context, const char* const* inputs,
                                   const char* const* outputs, size_t num_states) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr) return null_argument("context");
    if (inputs == nullptr && num_states > 0) return null_argument("inputs");
    if (outputs == nullptr && num_states > 0) return null_argument("outputs");
    const auto use = SLUICE_TRY(ContextUse::take(context->control));
    return sluice::api::keep_states(*context, {inputs, num_states}, {outputs, num_states});
  });
}

int64_t sluice_context_kept_bytes(const sluice_context* context) {
  return context == nullptr ? 0 : context->context.kept_bytes();
}

int32_t sluice_context_set_device_input(sluice_context* context, const char* name,
                                        const sluice_array* array, const char* backend,
                                        int32_t device) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr || array == nullptr || backend == nullptr) {
      return null_argument("context, array or backend");
    }
    const auto use = SLUICE_TRY(ContextUse::take(context->control));
    const sluice::exec::DeviceName on = {backend, device};
    return sluice::api::set_input(*context, name, array, &on);
  });
}

int32_t sluice_context_bind_device_output(sluice_context* context, const char* name, void* data,
                                          int64_t capacity_bytes, const char* backend,
                                          int32_t device) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr || backend == nullptr) return null_argument("context or backend");
    const auto use = SLUICE_TRY(ContextUse::take(context->control));
    const sluice::exec::DeviceName on = {backend, device};
    return sluice::api::bind_output(*context, name, data, capacity_bytes, &on);
  });
}

int64_t sluice_context_copied_bytes(const sluice_context* context) {
  return context == nullptr ? 0 : context->context.copied_bytes();
}

int64_t sluice_context_recorded_bytes(const sluice_context* context) {
  return context == nullptr ? 0 : context->context.recorded_bytes();
}

int32_t sluice_context_run(sluice_context* context) {
  return sluice_context_run_with(context, nullptr);
}

int32_t sluice_context_run_with(sluice_context* context, const sluice_run_options* options) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr) return null_argument("context");
    return sluice::api::run(*context, options);
  });
}

int32_t sluice_context_cancel(sluice_context* context) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr) return null_argument("context");
    return context->control.cancel();
  });
}

int32_t sluice_context_output(sluice_context* context, const char* name, sluice_array* array) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr || array == nullptr) return null_argument("context or array");
    const auto use = SLUICE_TRY(ContextUse::take(context->control));
    return sluice::api::get_output(*context, name, *array);
  });
}
