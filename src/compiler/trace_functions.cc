// The functions of sluice/trace/trace.h.
#include <string>
#include <utility>
#include <vector>

#include "api/last_error.h"
#include "api/read_options.h"
#include "compiler/program_operators.h"
#include "compiler/trace_handle.h"

namespace sluice::compiler {
namespace {

constexpr std::int32_t kMaxOperands = 1 << 16;  // of one operation
constexpr std::int32_t kMaxRank = 64;

using api::null_argument;

/// The C API says "no value" with a negative number.
ir::OperandId id_of(sluice_value value) {
  return value < 0 ? ir::OperandId() : ir::OperandId(static_cast<std::size_t>(value));
}
sluice_value value_of(ir::OperandId id) { return static_cast<sluice_value>(id.value()); }

/// Copies the elements.
Result<ir::Constant> constant_of(const sluice_array& array) {
  const auto element = ir::element_type_from_onnx(array.element_type);
  if (!element) return invalid_argument("element type number {} is unknown", array.element_type);
  if (array.rank < 0 || array.rank > kMaxRank || (array.rank > 0 && array.dims == nullptr) ||
      array.size_bytes < 0 || (array.size_bytes > 0 && array.data == nullptr)) {
    return invalid_argument("the array has a null pointer, a negative size, or a rank above {}",
                            kMaxRank);
  }
  const ir::Shape shape(array.dims, array.dims + array.rank);
  const auto* data = static_cast<const std::byte*>(array.data);
  const std::span view(data, static_cast<std::size_t>(array.size_bytes));
  return ir::Constant{ir::Type::tensor(*element, shape), MutableBytes::copy_of(view).freeze()};
}

Result<ir::Constant> constant_of(const sluice_tensor& tensor) {
  return constant_of(
      sluice_array{tensor.data, tensor.size_bytes, tensor.element_type, tensor.rank, tensor.dims});
}

std::string text_of(const sluice_text& text) {
  return text.size_bytes <= 0 ? "" : std::string(text.data, text.data + text.size_bytes);
}

bool has_values(const sluice_attribute& attribute) {
  switch (attribute.kind) {
    case SLUICE_ATTRIBUTE_INT: return attribute.ints != nullptr;
    case SLUICE_ATTRIBUTE_FLOAT: return attribute.floats != nullptr;
    case SLUICE_ATTRIBUTE_TEXT: return attribute.texts != nullptr;
    case SLUICE_ATTRIBUTE_INTS: return attribute.count == 0 || attribute.ints != nullptr;
    case SLUICE_ATTRIBUTE_FLOATS: return attribute.count == 0 || attribute.floats != nullptr;
    case SLUICE_ATTRIBUTE_TEXTS: return attribute.count == 0 || attribute.texts != nullptr;
    case SLUICE_ATTRIBUTE_TENSOR: return attribute.tensor != nullptr;
    default: return false;
  }
}

/// Requires: has_values(), which refuses unknown kinds: what is left for `default` is a tensor.
Result<ir::Attribute> attribute_of(const sluice_attribute& attribute) {
  const auto count = attribute.count;
  switch (attribute.kind) {
    case SLUICE_ATTRIBUTE_INT: return ir::Attribute(attribute.ints[0]);
    case SLUICE_ATTRIBUTE_FLOAT: return ir::Attribute(attribute.floats[0]);
    case SLUICE_ATTRIBUTE_TEXT: return ir::Attribute(text_of(attribute.texts[0]));
    case SLUICE_ATTRIBUTE_INTS:
      return ir::Attribute(std::vector(attribute.ints, attribute.ints + count));
    case SLUICE_ATTRIBUTE_FLOATS:
      return ir::Attribute(std::vector(attribute.floats, attribute.floats + count));
    case SLUICE_ATTRIBUTE_TEXTS: {
      std::vector<std::string> texts;
      for (std::int64_t i = 0; i < count; ++i) texts.push_back(text_of(attribute.texts[i]));
      return ir::Attribute(std::move(texts));
    }
    default: return ir::Attribute(SLUICE_TRY(constant_of(*attribute.tensor)));
  }
}

Result<trace::Recorded> recorded_of(const sluice_trace_operation& operation) {
  // Everything that the C caller gives is checked before it is read: a null array with a count
  // above 0 is a mistake that bindings make.
  if (operation.kind == nullptr) return null_argument("the operator");
  const auto is_count = [](std::int32_t count) { return count >= 0 && count <= kMaxOperands; };
  if (!is_count(operation.num_inputs) || !is_count(operation.num_outputs) ||
      !is_count(operation.num_attributes) ||
      (operation.num_inputs > 0 && operation.inputs == nullptr) ||
      (operation.num_attributes > 0 && operation.attributes == nullptr)) {
    return invalid_argument("{}: a null array, or one of more than {}", operation.kind,
                            kMaxOperands);
  }
  trace::Recorded recorded;
  if (operation.domain != nullptr) recorded.domain = operation.domain;
  recorded.kind = operation.kind;
  recorded.version = operation.version;
  if (operation.source != nullptr) recorded.source = operation.source;
  recorded.num_outputs = static_cast<std::size_t>(operation.num_outputs);
  for (std::int32_t i = 0; i < operation.num_inputs; ++i) {
    recorded.inputs.push_back(id_of(operation.inputs[i]));
  }
  for (std::int32_t i = 0; i < operation.num_attributes; ++i) {
    const sluice_attribute& attribute = operation.attributes[i];
    if (attribute.name == nullptr || attribute.count < 0 || !has_values(attribute)) {
      return invalid_argument("{}: attribute {} has no name or no values", operation.kind, i);
    }
    recorded.attributes.set(
        attribute.name,
        SLUICE_TRY(attribute_of(attribute).with_context(std::string(attribute.name))));
  }
  return recorded;
}

}  // namespace
}  // namespace sluice::compiler

using sluice::api::guard;
using sluice::api::null_argument;
namespace ir = sluice::ir;

// Operators are registered first: a trace must not exist without those that it may record.
int32_t sluice_trace_create(const sluice_operator* const* operators, size_t num_operators,
                            sluice_trace** trace) {
  return guard([&]() -> sluice::Status {
    if (trace == nullptr) return null_argument("trace");
    *trace = nullptr;
    SLUICE_TRY(sluice::compiler::register_operators(operators, num_operators));
    *trace = new sluice_trace;
    return sluice::ok_status();
  });
}

void sluice_trace_free(sluice_trace* trace) { delete trace; }

int32_t sluice_trace_input(sluice_trace* trace, const char* name, const char* type,
                           sluice_value* value) {
  return guard([&]() -> sluice::Status {
    if (trace == nullptr || name == nullptr || type == nullptr || value == nullptr) {
      return null_argument("trace, name, type or value");
    }
    const auto parsed = SLUICE_TRY(ir::parse_type(type).with_context(std::string(name)));
    *value = sluice::compiler::value_of(SLUICE_TRY(trace->recorder.add_input(name, parsed)));
    return sluice::ok_status();
  });
}

int32_t sluice_trace_constant(sluice_trace* trace, const char* name, const sluice_array* array,
                              sluice_value* value) {
  return guard([&]() -> sluice::Status {
    if (trace == nullptr || array == nullptr || value == nullptr) {
      return null_argument("trace, array or value");
    }
    const std::string given = name == nullptr ? "" : name;
    auto constant = SLUICE_TRY(sluice::compiler::constant_of(*array).with_context(given));
    *value = sluice::compiler::value_of(
        SLUICE_TRY(trace->recorder.add_constant(given, std::move(constant))));
    return sluice::ok_status();
  });
}

int32_t sluice_trace_record(sluice_trace* trace, const sluice_trace_operation* operation,
                            sluice_value* outputs) {
  return guard([&]() -> sluice::Status {
    if (trace == nullptr || operation == nullptr || outputs == nullptr) {
      return null_argument("trace, operation or outputs");
    }
    const auto recorded = sluice::compiler::recorded_of(sluice::api::read_options(operation));
    const auto ids = SLUICE_TRY(trace->recorder.record(SLUICE_TRY(recorded)));
    for (std::size_t i = 0; i < ids.size(); ++i) outputs[i] = sluice::compiler::value_of(ids[i]);
    return sluice::ok_status();
  });
}

int32_t sluice_trace_output(sluice_trace* trace, const char* name, sluice_value value) {
  return guard([&]() -> sluice::Status {
    if (trace == nullptr || name == nullptr) return null_argument("trace or name");
    return trace->recorder.add_output(name, sluice::compiler::id_of(value));
  });
}

const sluice_tensor_spec* sluice_trace_describe(sluice_trace* trace, sluice_value value) {
  const ir::OperandId id = sluice::compiler::id_of(value);
  if (trace == nullptr || !trace->recorder.has(id)) return nullptr;
  const ir::Type& type = trace->recorder.type(id);
  trace->type = type.to_string();
  trace->dims.clear();
  const ir::Shape* shape = type.is_tensor() ? type.shape() : nullptr;
  for (const ir::Dim& dim : shape != nullptr ? *shape : ir::Shape()) {
    trace->dims.push_back(dim.is_known() ? dim.value() : -1);
  }
  const auto rank = shape != nullptr ? static_cast<std::int32_t>(shape->size()) : -1;
  trace->spec = {"",   trace->type.c_str(), static_cast<std::int32_t>(type.element()),
                 rank, trace->dims.data(),  -1,
                 0};
  return &trace->spec;
}
