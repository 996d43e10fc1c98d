#include "recipes/parts/builder.h"

#include <algorithm>

namespace sluice::recipes {
namespace {

using ir::ElementType;

/// Files of older versions of transformers have the frequencies that config.json implies.
bool says_nothing(std::string_view weight) { return weight.ends_with("rotary_emb.inv_freq"); }

}  // namespace

void Builder::fail(Status status) {
  if (status_.is_ok()) status_ = std::move(status);
}

OperandId Builder::input(const std::string& name, ir::Type type) {
  if (!status_.is_ok()) return {};
  return take(recorder_.add_input(name, std::move(type)));
}

void Builder::output(const std::string& name, OperandId value) {
  if (status_.is_ok()) fail(recorder_.add_output(name, value));
}

OperandId Builder::op(const char* kind, std::vector<OperandId> inputs, const Attributes& attributes,
                      const char* domain) {
  if (!status_.is_ok()) return {};
  trace::Recorded recorded;
  recorded.domain = domain;
  recorded.kind = kind;
  recorded.inputs = std::move(inputs);
  for (const auto& [name, value] : attributes) recorded.attributes.set(name, value);
  const auto outputs = take(recorder_.record(std::move(recorded)));
  return outputs.empty() ? OperandId() : outputs.front();
}

OperandId Builder::ints(const Ints& values) {
  return ints(values, {static_cast<std::int64_t>(values.size())});
}

OperandId Builder::ints(const Ints& values, ir::Shape shape) {
  if (!status_.is_ok()) return {};
  return take(recorder_.add_constant("", ir::make_i64_constant(values, std::move(shape))));
}

OperandId Builder::floats(const std::vector<float>& values, ir::Shape shape) {
  if (!status_.is_ok()) return {};
  return take(recorder_.add_constant("", ir::make_f32_constant(values, std::move(shape))));
}

OperandId Builder::cast(OperandId x, ElementType element) {
  return op("Cast", {x}, {{"to", static_cast<std::int64_t>(element)}});
}

OperandId Builder::weight(const std::string& name, const Ints& dims) {
  if (!status_.is_ok()) return {};
  if (const auto known = read_.find(name); known != read_.end()) return known->second;
  const ir::Constant* found = weights_.find(name);
  if (found == nullptr) {
    fail(invalid_argument("weight \"{}\" is missing", name));
    return {};
  }
  const ElementType element = found->type.element();
  const bool is_float =
      element == ElementType::kF32 || element == ElementType::kF16 || element == ElementType::kBf16;
  if (!is_float || found->type.static_dims() != dims) {
    fail(invalid_argument("weight \"{}\" is {}; config.json asks for floats of {}", name,
                          found->type.to_string(),
                          ir::shape_to_string(ir::Shape(dims.begin(), dims.end()))));
    return {};
  }
  const OperandId made = take(recorder_.add_constant(name, *found));
  read_.emplace(name, made);
  return made;
}

OperandId Builder::wide_weight(const std::string& name, const Ints& dims) {
  const OperandId given = weight(name, dims);
  if (!given.is_valid() || recorder_.type(given).element() == ElementType::kF32) return given;
  return cast(given, ElementType::kF32);
}

OperandId Builder::product(OperandId x, const std::string& name, std::int64_t out,
                           std::int64_t in) {
  const OperandId matrix = weight(name, {out, in});
  if (!matrix.is_valid()) return {};
  const std::int64_t yes = 1;
  if (recorder_.type(matrix).element() == ElementType::kF32) {
    return op("Gemm", {x, matrix}, {{"transB", yes}});
  }
  // The weights stay as the file has them: no f32 form is made.
  return op("NarrowMatMul", {x, matrix}, {{"transB", yes}}, "sluice");
}

Result<ir::Graph> Builder::finish() const {
  if (!status_.is_ok()) return status_;
  for (const auto& [name, constant] : weights_) {
    if (read_.contains(name) || says_nothing(name)) continue;
    return unimplemented("weight \"{}\" is not used: the recipe does not fit these weights", name);
  }
  return recorder_.graph();
}

}  // namespace sluice::recipes
