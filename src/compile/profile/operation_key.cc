#include "compile/profile/operation_key.h"

#include <fmt/format.h>

#include <string_view>

#include "backend/extensions/variants.h"

namespace sluice::compile {
namespace {

void add_tensor(const sluice_tensor& tensor, std::string& key) {
  key += fmt::format("{}/{}", tensor.element_type, tensor.layout);
  for (std::int32_t i = 0; i < tensor.rank; ++i) key += fmt::format(",{}", tensor.dims[i]);
  key += ';';
}

void add_attributes(const sluice_attribute* attributes, std::int32_t count, std::string& key) {
  for (std::int32_t a = 0; a < count; ++a) {
    const sluice_attribute& attribute = attributes[a];
    if (backend::kVariantAttribute == attribute.name) continue;
    key += fmt::format("{}:{}=", attribute.name, attribute.kind);
    for (std::int64_t i = 0; i < attribute.count; ++i) {
      if (attribute.ints != nullptr) key += fmt::format("{},", attribute.ints[i]);
      if (attribute.floats != nullptr) key += fmt::format("{},", attribute.floats[i]);
      if (attribute.texts == nullptr) continue;
      const sluice_text& text = attribute.texts[i];
      // Prefixed by its size, so that the contents of a string cannot be mistaken for the rest of
      // the key.
      key += fmt::format("{}\"{}\"", text.size_bytes,
                         std::string_view(text.data, static_cast<std::size_t>(text.size_bytes)));
    }
    if (attribute.tensor != nullptr) add_tensor(*attribute.tensor, key);
    key += ';';
  }
}

void add_operands(const sluice_operand* operands, std::int32_t count, std::string& key) {
  for (std::int32_t i = 0; i < count; ++i) {
    if (operands[i].is_constant != 0) key += '#';
    add_tensor(operands[i].tensor, key);
  }
  key += '|';
}

void add_body(const sluice_body& body, std::string& key) {
  key += fmt::format("body {} {} {}|", body.num_inputs, body.num_constants, body.result);
  for (std::int32_t i = 0; i < body.num_constants; ++i) add_tensor(body.constants[i], key);
  for (std::int32_t i = 0; i < body.num_steps; ++i) {
    const sluice_body_step& step = body.steps[i];
    key += fmt::format("{}/{}(", step.kind, step.version);
    for (std::int32_t k = 0; k < step.num_inputs; ++k) key += fmt::format("{},", step.inputs[k]);
    add_attributes(step.attributes, step.num_attributes, key);
    key += ')';
  }
}

}  // namespace

std::string key_of(const sluice_op& op) {
  std::string key = fmt::format("{}::{}/{}|", op.domain, op.kind, op.version);
  add_attributes(op.attributes, op.num_attributes, key);
  add_operands(op.inputs, op.num_inputs, key);
  add_operands(op.outputs, op.num_outputs, key);
  add_operands(op.body_inputs, op.num_body_inputs, key);
  if (op.body != nullptr) add_body(*op.body, key);
  return key;
}

}  // namespace sluice::compile
