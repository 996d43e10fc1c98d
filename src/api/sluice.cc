// The functions of sluice/sluice.h.
#include "sluice/sluice.h"

#include <string_view>
#include <utility>

#include "api/last_error.h"
#include "api/model.h"

namespace sluice::api {
namespace {

using Specs = std::vector<std::unique_ptr<SpecStorage>>;

Status null_argument(std::string_view what) { return invalid_argument("{} is null", what); }

const sluice_tensor_spec* spec_at(const Specs& specs, std::size_t index) {
  return index < specs.size() ? &specs[index]->spec : nullptr;
}

/// Place of `name` among `specs`; a null name means the only one.
Result<std::size_t> find_spec(const Specs& specs, const char* name, std::string_view what) {
  if (name == nullptr && specs.size() == 1) return std::size_t{0};
  std::string known;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (name != nullptr && specs[i]->name == name) return i;
    known += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", specs[i]->name);
  }
  return make_error(Code::kNotFound, "the model has no {} \"{}\"; it has {}", what,
                    name == nullptr ? "" : name, known);
}

Result<exec::TensorView> view_of(const sluice_array& array) {
  const auto element = ir::element_type_from_onnx(array.element_type);
  if (!element) return invalid_argument("element type number {} is unknown", array.element_type);
  if (array.rank < 0 || (array.rank > 0 && array.dims == nullptr)) {
    return invalid_argument("an array of rank {} needs that many dimensions", array.rank);
  }
  exec::TensorView view = {array.data, array.size_bytes, *element, {}};
  view.dims.assign(array.dims, array.dims + array.rank);
  return view;
}

Status set_input(sluice_context& context, const char* name, const sluice_array& array) {
  const auto index = SLUICE_TRY(find_spec(context.open->inputs, name, "input"));
  const SpecStorage& spec = *context.open->inputs[index];
  if (!context.open->loaded.signature().inputs[index].type.is_tensor()) {
    return unimplemented("input \"{}\" is a {}; this interface takes tensors only", spec.name,
                         spec.type);
  }
  return context.context.set_input(index, SLUICE_TRY(view_of(array)));
}

Status bind_output(sluice_context& context, const char* name, void* data, std::int64_t capacity) {
  const auto index = SLUICE_TRY(find_spec(context.open->outputs, name, "output"));
  return context.context.bind_output(index, data, capacity);
}

Status get_output(sluice_context& context, const char* name, sluice_array& array) {
  const auto index = SLUICE_TRY(find_spec(context.open->outputs, name, "output"));
  const SpecStorage& spec = *context.open->outputs[index];
  if (!context.open->loaded.signature().outputs[index].type.is_tensor()) {
    return unimplemented("output \"{}\" is a {}; this interface gives tensors only", spec.name,
                         spec.type);
  }
  const exec::TensorView& view = context.context.output(index);
  if (view.element == ir::ElementType::kUndefined) {
    return make_error(Code::kFailedPrecondition, "the context has not run yet");
  }
  array = {view.data, view.size_bytes, static_cast<std::int32_t>(view.element),
           static_cast<std::int32_t>(view.dims.size()), view.dims.data()};
  return ok_status();
}

}  // namespace
}  // namespace sluice::api

using sluice::api::guard;
using sluice::api::null_argument;

const char* sluice_version(void) { return "0.1.0"; }

const char* sluice_last_error(void) { return sluice::api::last_error(); }

int32_t sluice_model_open(const char* path, const sluice_open_options* options,
                          sluice_model** model) {
  return guard([&]() -> sluice::Status {
    if (model == nullptr) return null_argument("model");
    *model = nullptr;
    *model = new sluice_model{SLUICE_TRY(sluice::api::open_model(path, options))};
    return sluice::ok_status();
  });
}

void sluice_model_close(sluice_model* model) { delete model; }

size_t sluice_model_num_inputs(const sluice_model* model) {
  return model == nullptr ? 0 : model->open->inputs.size();
}

size_t sluice_model_num_outputs(const sluice_model* model) {
  return model == nullptr ? 0 : model->open->outputs.size();
}

const sluice_tensor_spec* sluice_model_input(const sluice_model* model, size_t index) {
  return model == nullptr ? nullptr : sluice::api::spec_at(model->open->inputs, index);
}

const sluice_tensor_spec* sluice_model_output(const sluice_model* model, size_t index) {
  return model == nullptr ? nullptr : sluice::api::spec_at(model->open->outputs, index);
}

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
    if (context == nullptr || array == nullptr) return null_argument("context or array");
    return sluice::api::set_input(*context, name, *array);
  });
}

int32_t sluice_context_bind_output(sluice_context* context, const char* name, void* data,
                                   int64_t capacity_bytes) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr) return null_argument("context");
    return sluice::api::bind_output(*context, name, data, capacity_bytes);
  });
}

int32_t sluice_context_run(sluice_context* context) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr) return null_argument("context");
    return context->context.run();
  });
}

int32_t sluice_context_output(sluice_context* context, const char* name, sluice_array* array) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr || array == nullptr) return null_argument("context or array");
    return sluice::api::get_output(*context, name, *array);
  });
}
