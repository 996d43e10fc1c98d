#include "onnx/tensors/constant_node.h"

#include "ir/texts.h"

namespace sluice::onnx {
namespace {

ir::Constant string_constant(const std::vector<std::string>& values, ir::Shape shape) {
  return ir::make_text_constant(std::vector<std::string_view>(values.begin(), values.end()),
                                std::move(shape));
}

/// Converts each kind of attribute that can hold a constant.
struct Maker {
  using Answer = Result<ir::Constant>;

  Answer operator()(const ir::Constant& value) const { return value; }
  Answer operator()(std::int64_t value) const { return ir::make_i64_constant({value}, {}); }
  Answer operator()(float value) const { return ir::make_f32_constant({value}, {}); }
  Answer operator()(const std::string& value) const { return string_constant({value}, {}); }
  Answer operator()(const std::vector<std::int64_t>& values) const {
    return ir::make_i64_constant(values, length(values));
  }
  Answer operator()(const std::vector<float>& values) const {
    return ir::make_f32_constant(values, length(values));
  }
  Answer operator()(const std::vector<std::string>& values) const {
    return string_constant(values, length(values));
  }
  template <typename Other>
  Answer operator()(const Other& /*value*/) const {
    return invalid_argument("its value is neither a tensor nor a list of numbers or strings");
  }

 private:
  template <typename T>
  static ir::Shape length(const std::vector<T>& values) {
    return {static_cast<std::int64_t>(values.size())};
  }
};

}  // namespace

Result<ir::Constant> constant_of(const ir::Attributes& attributes) {
  const ir::Attribute* found = nullptr;
  for (const auto& [name, value] : attributes) {
    if (name != "value" && name != "sparse_value" && !name.starts_with("value_")) continue;
    if (found != nullptr) return invalid_argument("has more than one value");
    found = &value;
  }
  if (found == nullptr) return invalid_argument("attribute \"value\" is missing");
  return std::visit(Maker{}, *found);
}

}  // namespace sluice::onnx
