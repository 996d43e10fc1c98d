// Small literal tensors and one call of a kernel, for tests.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "reference/elements.h"
#include "reference/kernels.h"

namespace sluice::reference {

/// A tensor that owns its bytes.
class TestTensor {
 public:
  template <typename T>
  TestTensor(std::vector<std::int64_t> dims, const std::vector<T>& values)
      : dims_(std::move(dims)), type_(element_type_of<T>()), bytes_(values.size() * sizeof(T)) {
    if (!bytes_.empty()) std::memcpy(bytes_.data(), values.data(), bytes_.size());
  }
  TestTensor(std::vector<std::int64_t> dims, sluice_element_type type, std::size_t size_bytes)
      : dims_(std::move(dims)), type_(type), bytes_(size_bytes) {}

  /// Stands for an optional input that is not there.
  static TestTensor absent() { return TestTensor({}, plugin::kAbsent, 0); }

  sluice_tensor view() {
    sluice_tensor tensor = {};
    tensor.data = bytes_.data();
    tensor.size_bytes = static_cast<std::int64_t>(bytes_.size());
    tensor.element_type = type_;
    tensor.rank = static_cast<std::int32_t>(dims_.size());
    tensor.dims = dims_.data();
    return tensor;
  }

  template <typename T>
  std::vector<T> values() const {
    std::vector<T> values(bytes_.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes_.data(), bytes_.size());
    return values;
  }

 private:
  std::vector<std::int64_t> dims_;
  sluice_element_type type_;
  std::vector<std::byte> bytes_;
};

/// An operator with integer and text attributes, checked, made and run once.
class TestOp {
 public:
  explicit TestOp(const char* kind, const char* domain = "", std::int32_t version = 1)
      : kind_(kind), domain_(domain), version_(version) {}

  TestOp& with(const char* name, std::int64_t value) {
    ints_.push_back(std::make_unique<std::int64_t>(value));
    attributes_.push_back(
        {name, SLUICE_ATTRIBUTE_INT, 1, ints_.back().get(), nullptr, nullptr, nullptr});
    return *this;
  }
  TestOp& with(const char* name, const char* value) {
    texts_.push_back(std::make_unique<sluice_text>(
        sluice_text{value, static_cast<std::int64_t>(std::strlen(value))}));
    attributes_.push_back(
        {name, SLUICE_ATTRIBUTE_TEXT, 1, nullptr, nullptr, texts_.back().get(), nullptr});
    return *this;
  }
  TestOp& with(const char* name, std::vector<std::int64_t> values) {
    lists_.push_back(std::make_unique<std::vector<std::int64_t>>(std::move(values)));
    const std::vector<std::int64_t>& list = *lists_.back();
    attributes_.push_back({name, SLUICE_ATTRIBUTE_INTS, static_cast<std::int64_t>(list.size()),
                           list.data(), nullptr, nullptr, nullptr});
    return *this;
  }

  /// The text of the failure; "" for success.
  std::string run(std::vector<TestTensor> inputs, TestTensor& output) const {
    std::vector<sluice_tensor> tensors;
    std::vector<sluice_operand> operands;
    for (TestTensor& input : inputs) {
      tensors.push_back(input.view());
      operands.push_back({input.view(), 0, nullptr, 0});
    }
    const sluice_tensor result = output.view();
    const sluice_operand out = {result, 0, nullptr, 0};
    sluice_op op = {};
    op.struct_size = sizeof(op);
    op.version = version_;
    op.domain = domain_;
    op.kind = kind_;
    op.name = "";
    op.num_inputs = static_cast<std::int32_t>(inputs.size());
    op.num_outputs = 1;
    op.num_attributes = static_cast<std::int32_t>(attributes_.size());
    op.inputs = operands.data();
    op.outputs = &out;
    op.attributes = attributes_.data();
    if (Status status = check_op(op); !status.is_ok()) return status.text;
    std::unique_ptr<plugin::HostKernel> kernel;
    if (Status status = make_kernel(op, &kernel); !status.is_ok()) return status.text;
    std::int64_t* const none = nullptr;
    return kernel->run(Call(op, tensors, {&result, 1}, {&none, 1})).text;
  }

 private:
  const char* kind_;
  const char* domain_;
  std::int32_t version_;
  std::vector<sluice_attribute> attributes_;
  std::vector<std::unique_ptr<std::int64_t>> ints_;
  std::vector<std::unique_ptr<sluice_text>> texts_;
  std::vector<std::unique_ptr<std::vector<std::int64_t>>> lists_;
};

}  // namespace sluice::reference
