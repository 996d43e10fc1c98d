// An operation for tests, with all memory that it refers to.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "sluice/backend.hpp"

namespace sluice::cuda::testing {

using Shape = std::vector<std::int64_t>;

/// Operands have one element type, where nothing else is said.
///   TestOp op("MatMul", plugin::kF32);
///   op.input({2, 3}).input({3, 4}).output({2, 4}).body_input({4}).step("Add", {0, 1});
class TestOp {
 public:
  TestOp(const char* kind, sluice_element_type type) : type_(type) {
    op_.struct_size = sizeof(op_);
    op_.domain = "";
    op_.kind = kind;
    op_.name = "node";
    op_.version = 13;
  }
  TestOp(const TestOp&) = delete;
  TestOp& operator=(const TestOp&) = delete;
  ~TestOp() = default;

  TestOp& domain(const char* name) {
    op_.domain = name;
    return *this;
  }
  TestOp& input(const Shape& shape) { return add(shape, &inputs_); }
  TestOp& input(const Shape& shape, sluice_element_type type) { return add(shape, &inputs_, type); }
  TestOp& absent_input() {
    inputs_.emplace_back();
    return *this;
  }
  TestOp& output(const Shape& shape) { return add(shape, &outputs_); }
  TestOp& output(const Shape& shape, sluice_element_type type) {
    return add(shape, &outputs_, type);
  }
  TestOp& body_input(const Shape& shape) { return add(shape, &body_inputs_); }
  /// Registers are numbered as sluice_body has it; there are no constants.
  TestOp& step(const char* kind, const std::vector<std::int32_t>& registers) {
    const auto& kept = registers_.emplace_back(registers);
    steps_.push_back({kind, 14, static_cast<std::int32_t>(kept.size()), kept.data(), 0, nullptr});
    return *this;
  }
  TestOp& set_int(const char* name, std::int64_t value) {
    const auto& kept = ints_.emplace_back(1, value);
    return set({name, SLUICE_ATTRIBUTE_INT, 1, kept.data(), nullptr, nullptr, nullptr});
  }
  /// A list, of whatever length.
  TestOp& set(const char* name, std::vector<std::int64_t> values) {
    const auto& kept = ints_.emplace_back(std::move(values));
    return set({name, SLUICE_ATTRIBUTE_INTS, static_cast<std::int64_t>(kept.size()), kept.data(),
                nullptr, nullptr, nullptr});
  }
  TestOp& set_text(const char* name, const std::string& value) {
    const auto& kept = texts_.emplace_back(value);
    const auto& text =
        views_.emplace_back(sluice_text{kept.data(), static_cast<std::int64_t>(kept.size())});
    return set({name, SLUICE_ATTRIBUTE_TEXT, 1, nullptr, nullptr, &text, nullptr});
  }
  TestOp& set_float(const char* name, float value) {
    const auto& kept = floats_.emplace_back(value);
    return set({name, SLUICE_ATTRIBUTE_FLOAT, 1, nullptr, &kept, nullptr, nullptr});
  }

  /// Valid until something is added.
  const sluice_op& get() {
    const auto count = [](const auto& list) { return static_cast<std::int32_t>(list.size()); };
    op_.num_inputs = count(inputs_);
    op_.inputs = inputs_.data();
    op_.num_outputs = count(outputs_);
    op_.outputs = outputs_.data();
    op_.num_body_inputs = count(body_inputs_);
    op_.body_inputs = body_inputs_.data();
    op_.num_attributes = count(attributes_);
    op_.attributes = attributes_.data();
    body_.num_inputs = 1 + op_.num_body_inputs;
    body_.num_steps = count(steps_);
    body_.steps = steps_.data();
    body_.result = op_.num_body_inputs + count(steps_);
    op_.body = steps_.empty() ? nullptr : &body_;
    return op_;
  }

 private:
  TestOp& add(const Shape& shape, std::vector<sluice_operand>* operands) {
    return add(shape, operands, type_);
  }
  TestOp& add(const Shape& shape, std::vector<sluice_operand>* operands, sluice_element_type type) {
    const auto& dims = dims_.emplace_back(shape);
    sluice_operand made = {};
    made.tensor.element_type = type;
    made.tensor.rank = static_cast<std::int32_t>(dims.size());
    made.tensor.dims = dims.data();
    made.tensor.size_bytes = plugin::num_elements(dims) * plugin::element_bits(type) / 8;
    operands->push_back(made);
    return *this;
  }
  TestOp& set(const sluice_attribute& attribute) {
    attributes_.push_back(attribute);
    return *this;
  }

  const sluice_element_type type_;
  std::deque<Shape> dims_;
  std::deque<std::vector<std::int32_t>> registers_;
  std::deque<std::vector<std::int64_t>> ints_;
  std::deque<float> floats_;
  std::deque<std::string> texts_;
  std::deque<sluice_text> views_;
  std::vector<sluice_operand> inputs_, outputs_, body_inputs_;
  std::vector<sluice_attribute> attributes_;
  std::vector<sluice_body_step> steps_;
  sluice_body body_ = {};
  sluice_op op_ = {};
};

}  // namespace sluice::cuda::testing
