// Small literal tensors and one call of a kernel, for tests.
#pragma once

#include <cstring>
#include <deque>
#include <initializer_list>
#include <memory>
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
  /// Strings; the literals outlive the tensor.
  TestTensor(std::vector<std::int64_t> dims, std::initializer_list<const char*> texts)
      : dims_(std::move(dims)), type_(plugin::kString) {
    for (const char* text : texts) {
      const sluice_text element = {text, static_cast<std::int64_t>(std::strlen(text))};
      const auto* bytes = reinterpret_cast<const std::byte*>(&element);
      bytes_.insert(bytes_.end(), bytes, bytes + sizeof(element));
    }
  }
  TestTensor(std::vector<std::int64_t> dims, sluice_element_type type, std::size_t size_bytes)
      : dims_(std::move(dims)), type_(type), bytes_(size_bytes) {}

  /// Stands for an absent optional input.
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

  std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (const sluice_text& text : values<sluice_text>()) texts.emplace_back(plugin::view(text));
    return texts;
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

/// Keeps what kernels write of text until the test program ends.
inline sluice_text_pool* test_texts() {
  static std::deque<std::string> kept;
  static sluice_text_pool pool = {nullptr, [](sluice_text_pool*, std::int64_t size_bytes) {
                                    kept.emplace_back(static_cast<std::size_t>(size_bytes), ' ');
                                    return kept.back().data();
                                  }};
  return &pool;
}

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
  TestOp& with_texts(const char* name, std::initializer_list<const char*> values) {
    std::vector<sluice_text>& texts = text_lists_.emplace_back();
    for (const char* value : values) {
      texts.push_back({value, static_cast<std::int64_t>(std::strlen(value))});
    }
    attributes_.push_back({name, SLUICE_ATTRIBUTE_TEXTS, static_cast<std::int64_t>(texts.size()),
                           nullptr, nullptr, texts.data(), nullptr});
    return *this;
  }
  TestOp& with(const char* name, std::vector<std::int64_t> values) {
    lists_.push_back(std::make_unique<std::vector<std::int64_t>>(std::move(values)));
    const std::vector<std::int64_t>& list = *lists_.back();
    attributes_.push_back({name, SLUICE_ATTRIBUTE_INTS, static_cast<std::int64_t>(list.size()),
                           list.data(), nullptr, nullptr, nullptr});
    return *this;
  }

  /// Where the kernel writes the dimensions of a result whose shape depends on data.
  mutable std::vector<std::int64_t> actual_dims;

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
    actual_dims.assign(static_cast<std::size_t>(result.rank), -1);
    std::int64_t* const dims = actual_dims.data();
    return kernel->run(Call(op, tensors, {&result, 1}, {&dims, 1}, test_texts())).text;
  }

 private:
  const char* kind_;
  const char* domain_;
  std::int32_t version_;
  std::vector<sluice_attribute> attributes_;
  std::vector<std::unique_ptr<std::int64_t>> ints_;
  std::vector<std::unique_ptr<sluice_text>> texts_;
  std::vector<std::unique_ptr<std::vector<std::int64_t>>> lists_;
  std::deque<std::vector<sluice_text>> text_lists_;
};

}  // namespace sluice::reference
