// The functions of sluice/sluice.h for outputs that the caller keeps, sequences and optionals.
#include <utility>

#include "api/last_error.h"
#include "api/model.h"

struct sluice_output {
  sluice::exec::Tensor tensor;
  sluice_array array = {};
};

namespace sluice::api {
namespace {

/// The value that an input of type `type` takes; the elements are copied.
Result<exec::Value> value_of(const ir::Type& type, std::span<const sluice_array> elements) {
  const bool is_optional = type.kind() == ir::Type::Kind::kOptional;
  const ir::Type& held = is_optional ? type.item() : type;
  if (held.kind() != ir::Type::Kind::kSequence && elements.size() > 1) {
    return invalid_argument("a {} has one element at most, not {}", type.to_string(),
                            elements.size());
  }
  std::vector<std::shared_ptr<const exec::Tensor>> tensors;
  for (const sluice_array& element : elements) {
    const terms::TensorView view = SLUICE_TRY(view_of(element));
    const auto size = ir::storage_bytes(terms::type_of(view));
    const bool is_text = view.element == ir::ElementType::kString;
    if (view.size_bytes < 0 || (view.data == nullptr && view.size_bytes > 0) ||
        (!is_text && size != view.size_bytes)) {
      return invalid_argument("element {}: {} takes {} bytes, got {}{}", tensors.size(),
                              terms::type_of(view).to_string(), size.value_or(-1), view.size_bytes,
                              view.data == nullptr ? " at null" : "");
    }
    // Copied, because the elements of a sequence have no binding that would keep the caller's
    // memory in use.
    tensors.push_back(SLUICE_TRY(exec::copy_tensor(view)));
  }
  if (held.kind() == ir::Type::Kind::kSequence) {
    auto sequence = std::make_shared<exec::Sequence>();
    sequence->element = held.item().element();
    sequence->items = std::move(tensors);
    return exec::Value{nullptr, std::move(sequence)};
  }
  return exec::Value{tensors.empty() ? nullptr : tensors.front(), nullptr};
}

Status set_elements(sluice_context& context, const char* name,
                    std::span<const sluice_array> elements) {
  const auto index = SLUICE_TRY(find_input(*context.open, name));
  const terms::TensorSpec& spec = context.open->loaded.signature().inputs[index];
  auto value =
      SLUICE_TRY(value_of(spec.type, elements).with_context("input \"" + spec.name + "\""));
  return context.context.set_input_value(index, std::move(value));
}

/// The tensors of an output, valid until the context changes.
Result<std::vector<const terms::TensorView*>> elements_of(const sluice_context& context,
                                                          const char* name) {
  const auto index = SLUICE_TRY(find_spec(context.open->outputs, name, "output"));
  const terms::TensorSpec& spec = context.open->loaded.signature().outputs[index];
  if (!context.has_run) {
    return make_error(Code::kFailedPrecondition, "the context has not run yet");
  }
  std::vector<const terms::TensorView*> views;
  if (spec.type.is_tensor()) {
    const terms::TensorView& view = context.context.output(index);
    if (view.element != ir::ElementType::kUndefined) views.push_back(&view);
    return views;
  }
  const exec::Value& value = context.context.output_value(index);
  if (value.tensor) views.push_back(&value.tensor->view);
  if (value.sequence == nullptr) return views;
  for (const auto& item : value.sequence->items) views.push_back(&item->view);
  return views;
}

}  // namespace
}  // namespace sluice::api

using sluice::api::guard;
using sluice::api::null_argument;

int32_t sluice_context_take_output(sluice_context* context, const char* name,
                                   sluice_output** output) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr || output == nullptr) return null_argument("context or output");
    *output = nullptr;
    const auto use = SLUICE_TRY(sluice::api::ContextUse::take(context->control));
    const auto index = SLUICE_TRY(sluice::api::find_spec(context->open->outputs, name, "output"));
    auto taken = std::make_unique<sluice_output>();
    taken->tensor = SLUICE_TRY(context->context.take_output(index));
    taken->array = sluice::api::array_of(taken->tensor.view);
    *output = taken.release();
    return sluice::ok_status();
  });
}

const sluice_array* sluice_output_array(const sluice_output* output) {
  return output == nullptr ? nullptr : &output->array;
}

void sluice_output_free(sluice_output* output) { delete output; }

int32_t sluice_context_set_input_elements(sluice_context* context, const char* name,
                                          const sluice_array* elements, size_t num_elements) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr || (elements == nullptr && num_elements > 0)) {
      return null_argument("context or elements");
    }
    const auto use = SLUICE_TRY(sluice::api::ContextUse::take(context->control));
    return sluice::api::set_elements(*context, name, {elements, num_elements});
  });
}

int32_t sluice_context_output_length(sluice_context* context, const char* name,
                                     size_t* num_elements) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr || num_elements == nullptr) {
      return null_argument("context or num_elements");
    }
    const auto use = SLUICE_TRY(sluice::api::ContextUse::take(context->control));
    *num_elements = SLUICE_TRY(sluice::api::elements_of(*context, name)).size();
    return sluice::ok_status();
  });
}

int32_t sluice_context_output_element(sluice_context* context, const char* name, size_t index,
                                      sluice_array* array) {
  return guard([&]() -> sluice::Status {
    if (context == nullptr || array == nullptr) return null_argument("context or array");
    const auto use = SLUICE_TRY(sluice::api::ContextUse::take(context->control));
    const auto elements = SLUICE_TRY(sluice::api::elements_of(*context, name));
    if (index >= elements.size()) {
      return sluice::invalid_argument("element {} does not exist; the output has {}", index,
                                      elements.size());
    }
    *array = sluice::api::array_of(*elements[index]);
    return sluice::ok_status();
  });
}
