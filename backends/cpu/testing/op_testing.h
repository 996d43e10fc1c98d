#pragma once

#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plugin/backend.h"
#include "plugin/command_list.h"
#include "pool/cpu_set.h"

namespace sluice::cpu {

using Shape = std::vector<std::int64_t>;

/// Pools of 1 to 3 workers, shared by all tests.
inline ThreadPool& test_pool(int count) {
  static std::deque<ThreadPool>& pools = *[] {
    auto* made = new std::deque<ThreadPool>;
    const std::vector<int> cpus = allowed_cpus();
    for (std::size_t n = 1; n <= 3; ++n) {
      std::vector<int> chosen;
      for (std::size_t i = 0; i < n; ++i) chosen.push_back(cpus[i % cpus.size()]);
      made->emplace_back(chosen);
    }
    return made;
  }();
  return pools[static_cast<std::size_t>(count - 1)];
}

/// Builds a `sluice_op` step by step; run() creates its kernel and runs a list with one entry.
class TestOp {
 public:
  explicit TestOp(std::string kind, std::string domain = "", int version = 13)
      : kind_(std::move(kind)), domain_(std::move(domain)), version_(version) {}
  TestOp(TestOp&&) = default;
  TestOp(const TestOp&) = delete;  // operands point into it

  template <typename T = float>
  TestOp& input(Shape dims, const std::vector<T>& values, bool constant = false) {
    inputs_.push_back(operand(std::move(dims), values, constant));
    return *this;
  }
  /// c16 operands; `values` as they lie in memory.
  template <typename T = float>
  TestOp& blocked_input(Shape dims, const std::vector<T>& values) {
    inputs_.push_back(operand(std::move(dims), values, false));
    inputs_.back().tensor.layout = SLUICE_LAYOUT_C16;
    return *this;
  }
  TestOp& blocked_body_input(Shape dims, const std::vector<float>& values) {
    body_inputs_.push_back(operand(std::move(dims), values, false));
    body_inputs_.back().tensor.layout = SLUICE_LAYOUT_C16;
    return *this;
  }
  TestOp& blocked_output(const Shape& dims) {
    std::size_t count = static_cast<std::size_t>((dims[1] + 15) / 16 * 16 * dims[0]);
    for (std::size_t i = 2; i < dims.size(); ++i) count *= static_cast<std::size_t>(dims[i]);
    outputs_.push_back(operand(dims, std::vector<float>(count), false));
    outputs_.back().tensor.layout = SLUICE_LAYOUT_C16;
    return *this;
  }
  /// Input `index`, which is constant, only in a packed form that the caller keeps.
  TestOp& packed_input(std::size_t index, const void* packed, std::int64_t bytes) {
    inputs_[index].packed = packed;
    inputs_[index].packed_bytes = bytes;
    inputs_[index].tensor.data = nullptr;
    return *this;
  }
  TestOp& absent_input() {
    inputs_.push_back({});
    return *this;
  }
  template <typename T = float>
  TestOp& body_input(Shape dims, const std::vector<T>& values) {
    body_inputs_.push_back(operand(std::move(dims), values, false));
    return *this;
  }
  template <typename T = float>
  TestOp& output(const Shape& dims) {
    std::size_t count = 1;
    for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
    outputs_.push_back(operand(dims, std::vector<T>(count), false));
    return *this;
  }
  /// A constant of the body; its register follows those of the body's inputs.
  TestOp& body_constant(float value) {
    body_constants_.push_back(operand({}, std::vector<float>{value}, true).tensor);
    return *this;
  }
  TestOp& set_input_type(std::size_t input, sluice_element_type type) {
    inputs_[input].tensor.element_type = type;
    return *this;
  }
  TestOp& set_output_type(std::size_t output, sluice_element_type type) {
    outputs_[output].tensor.element_type = type;
    return *this;
  }
  TestOp& attribute(const char* name, std::int64_t value) {
    ints_.push_back({value});
    attributes_.push_back(
        {name, SLUICE_ATTRIBUTE_INT, 1, ints_.back().data(), nullptr, nullptr, nullptr});
    return *this;
  }
  TestOp& attribute(const char* name, const Shape& values) {
    ints_.push_back(values);
    attributes_.push_back({name, SLUICE_ATTRIBUTE_INTS, static_cast<std::int64_t>(values.size()),
                           ints_.back().data(), nullptr, nullptr, nullptr});
    return *this;
  }
  TestOp& attribute(const char* name, float value) {
    floats_.push_back({value});
    attributes_.push_back(
        {name, SLUICE_ATTRIBUTE_FLOAT, 1, nullptr, floats_.back().data(), nullptr, nullptr});
    return *this;
  }
  TestOp& attribute(const char* name, const char* value) {
    texts_.push_back({value, static_cast<std::int64_t>(std::strlen(value))});
    attributes_.push_back(
        {name, SLUICE_ATTRIBUTE_TEXT, 1, nullptr, nullptr, &texts_.back(), nullptr});
    return *this;
  }
  TestOp& attribute_texts(const char* name, const std::vector<const char*>& values) {
    text_lists_.emplace_back();
    for (const char* value : values) {
      text_lists_.back().push_back({value, static_cast<std::int64_t>(std::strlen(value))});
    }
    attributes_.push_back({name, SLUICE_ATTRIBUTE_TEXTS, static_cast<std::int64_t>(values.size()),
                           nullptr, nullptr, text_lists_.back().data(), nullptr});
    return *this;
  }
  template <typename T>
  TestOp& attribute_value(const char* name, const std::vector<T>& values) {
    tensors_.push_back(operand({static_cast<std::int64_t>(values.size())}, values, true).tensor);
    attributes_.push_back(
        {name, SLUICE_ATTRIBUTE_TENSOR, 1, nullptr, nullptr, nullptr, &tensors_.back()});
    return *this;
  }
  /// A body step; registers as in backend.h. The last one is the result.
  TestOp& step(const char* kind, std::vector<std::int32_t> registers) {
    registers_.push_back(std::move(registers));
    steps_.push_back({kind, 13, static_cast<std::int32_t>(registers_.back().size()),
                      registers_.back().data(), 0, nullptr});
    return *this;
  }

  const sluice_op& op() {
    op_ = {};
    op_.struct_size = sizeof op_;
    op_.version = version_;
    op_.domain = domain_.c_str();
    op_.kind = kind_.c_str();
    op_.name = "";
    op_.num_inputs = static_cast<std::int32_t>(inputs_.size());
    op_.num_outputs = static_cast<std::int32_t>(outputs_.size());
    op_.num_body_inputs = static_cast<std::int32_t>(body_inputs_.size());
    op_.num_attributes = static_cast<std::int32_t>(attributes_.size());
    op_.inputs = inputs_.data();
    op_.outputs = outputs_.data();
    op_.body_inputs = body_inputs_.data();
    op_.attributes = attributes_.data();
    if (!steps_.empty()) {
      const bool own = kind_ != "Elementwise";
      body_.num_inputs = op_.num_body_inputs + (own ? 1 : 0);
      body_.num_steps = static_cast<std::int32_t>(steps_.size());
      body_.steps = steps_.data();
      body_.num_constants = static_cast<std::int32_t>(body_constants_.size());
      body_.constants = body_constants_.data();
      body_.result = body_.num_inputs + body_.num_constants + body_.num_steps - 1;
      op_.body = &body_;
    }
    return op_;
  }

  Status make(const Backend& backend, std::unique_ptr<Kernel>* kernel) {
    return backend.make_kernel(op(), kernel);
  }

  Status run(const Backend& backend, int workers) {
    std::unique_ptr<Kernel> kernel;
    if (Status status = make(backend, &kernel); !status.is_ok()) return status;
    return run(*kernel, workers);
  }

  /// Runs a kernel created for op().
  Status run(const Kernel& kernel, int workers) {
    CommandList list(test_pool(workers));
    const std::vector<sluice_argument> in = arguments(inputs_, body_inputs_);
    const std::vector<sluice_argument> out = arguments(outputs_, {});
    if (Status status = list.add_kernel(kernel, in, out); !status.is_ok()) return status;
    if (Status status = list.finish(); !status.is_ok()) return status;
    return list.run({});
  }

  template <typename T = float>
  std::vector<T> result(std::size_t output = 0) const {
    const sluice_tensor& tensor = outputs_[output].tensor;
    const auto* data = static_cast<const T*>(tensor.data);
    return std::vector<T>(data, data + static_cast<std::size_t>(tensor.size_bytes) / sizeof(T));
  }

 private:
  template <typename T>
  static constexpr sluice_element_type type_of() {
    if constexpr (std::is_same_v<T, float>) return plugin::kF32;
    if constexpr (std::is_same_v<T, double>) return plugin::kF64;
    if constexpr (std::is_same_v<T, std::int64_t>) return plugin::kI64;
    if constexpr (std::is_same_v<T, std::int32_t>) return plugin::kI32;
    if constexpr (std::is_same_v<T, std::uint16_t>) return plugin::kU16;
    if constexpr (std::is_same_v<T, std::uint32_t>) return plugin::kU32;
    if constexpr (std::is_same_v<T, std::uint64_t>) return plugin::kU64;
    if constexpr (std::is_same_v<T, std::int16_t>) return plugin::kI16;
    if constexpr (std::is_same_v<T, std::uint8_t>) return plugin::kU8;
    if constexpr (std::is_same_v<T, std::int8_t>) return plugin::kI8;
  }

  template <typename T>
  sluice_operand operand(Shape dims, const std::vector<T>& values, bool constant) {
    storage_.emplace_back(values.size() * sizeof(T) / 64 + 1);
    // The values may be none, in no memory.
    if (!values.empty()) {
      std::memcpy(storage_.back().data(), values.data(), values.size() * sizeof(T));
    }
    shapes_.push_back(std::move(dims));
    sluice_operand made = {};
    made.tensor = {
        storage_.back().data(),  static_cast<std::int64_t>(values.size() * sizeof(T)), type_of<T>(),
        SLUICE_LAYOUT_ROW_MAJOR, static_cast<std::int32_t>(shapes_.back().size()),     0,
        shapes_.back().data()};
    made.is_constant = constant ? 1 : 0;
    return made;
  }

  static std::vector<sluice_argument> arguments(const std::vector<sluice_operand>& first,
                                                const std::vector<sluice_operand>& second) {
    std::vector<sluice_argument> all;
    for (const auto* operands : {&first, &second}) {
      for (const sluice_operand& operand : *operands) {
        const bool absent = plugin::is_absent(operand.tensor);
        all.push_back({absent ? -2 : -1, 0, operand.tensor.data, 0, nullptr});
      }
    }
    return all;
  }

  struct alignas(64) Line {
    std::byte bytes[64];
  };

  std::string kind_;
  std::string domain_;
  int version_;
  std::list<std::vector<Line>> storage_;
  std::list<Shape> shapes_;
  std::list<Shape> ints_;
  std::list<std::vector<float>> floats_;
  std::list<sluice_text> texts_;
  std::list<sluice_tensor> tensors_;
  std::list<std::vector<sluice_text>> text_lists_;
  std::list<std::vector<std::int32_t>> registers_;
  std::vector<sluice_operand> inputs_;
  std::vector<sluice_operand> body_inputs_;
  std::vector<sluice_operand> outputs_;
  std::vector<sluice_attribute> attributes_;
  std::vector<sluice_body_step> steps_;
  std::vector<sluice_tensor> body_constants_;
  sluice_body body_ = {};
  sluice_op op_ = {};
};

/// A backend per instruction set of this machine.
inline std::list<Backend> backends_to_test() {
  std::list<Backend> all;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
    if (isa > detect_isa()) continue;
    all.emplace_back();
    (void)all.back().set_option("isa", isa_name(isa));
  }
  return all;
}

}  // namespace sluice::cpu
