#include "backend/op_storage.h"

#include <string>

#include "backend/texts.h"

namespace sluice::backend {
namespace {

/// Borrows: the text must outlive the operation that is handed over. Members of OpStorage are
/// deques, whose elements do not move when more are added.
sluice_text as_text(const std::string& text) {
  return {text.data(), static_cast<std::int64_t>(text.size())};
}

Status checked_dims(const ir::Type& type, std::vector<std::int64_t>& dims) {
  for (const ir::Dim& dim : *type.shape()) {
    if (dim.is_known() && dim.value() < 0) {
      return invalid_argument("{} has a negative dimension", type.to_string());
    }
    // -1 is the boundary's "unknown"; a kernel is made for known dimensions only.
    dims.push_back(dim.is_known() ? dim.value() : -1);
  }
  return ok_status();
}

/// Points `to` at the value without copying it.
struct AttributeWriter {
  OpStorage& storage;
  sluice_attribute& to;

  void set_kind(sluice_attribute_kind kind, std::size_t count) const {
    to.kind = kind;
    to.count = static_cast<std::int64_t>(count);
  }
  // By reference: `to` points at the value in the graph, which outlives the call of the plug-in.
  Status operator()(const std::int64_t& value) const {
    set_kind(SLUICE_ATTRIBUTE_INT, 1);
    to.ints = &value;
    return ok_status();
  }
  Status operator()(const float& value) const {
    set_kind(SLUICE_ATTRIBUTE_FLOAT, 1);
    to.floats = &value;
    return ok_status();
  }
  Status operator()(const std::string& value) const {
    set_kind(SLUICE_ATTRIBUTE_TEXT, 1);
    to.texts = storage.texts.emplace_back(1, as_text(value)).data();
    return ok_status();
  }
  Status operator()(const std::vector<std::int64_t>& values) const {
    set_kind(SLUICE_ATTRIBUTE_INTS, values.size());
    to.ints = values.data();
    return ok_status();
  }
  Status operator()(const std::vector<float>& values) const {
    set_kind(SLUICE_ATTRIBUTE_FLOATS, values.size());
    to.floats = values.data();
    return ok_status();
  }
  Status operator()(const std::vector<std::string>& values) const {
    set_kind(SLUICE_ATTRIBUTE_TEXTS, values.size());
    std::vector<sluice_text>& texts = storage.texts.emplace_back();
    for (const std::string& value : values) texts.push_back(as_text(value));
    to.texts = texts.data();
    return ok_status();
  }
  Status operator()(const ir::Constant& value) const {
    set_kind(SLUICE_ATTRIBUTE_TENSOR, 1);
    to.tensor = &storage.tensors.emplace_back(SLUICE_TRY(make_constant(storage, value)));
    return ok_status();
  }
  // Subgraphs, types and lists of tensors: no operator that reaches a backend has such attributes,
  // as the executor runs control flow itself.
  template <typename T>
  Status operator()(const T& /*value*/) const {
    return unimplemented("no backend takes attributes of this kind");
  }
};

}  // namespace

Result<sluice_tensor> make_tensor(std::vector<std::int64_t>& dims, const ir::Type& type) {
  if (!type.is_tensor() || type.shape() == nullptr) {
    return invalid_argument("{} is not a tensor of known rank", type.to_string());
  }
  const std::size_t first = dims.size();
  SLUICE_TRY(checked_dims(type, dims));
  sluice_tensor tensor = {};
  // Unknown until all dimensions are: a compiler asks backends about operations with symbols.
  tensor.size_bytes = -1;
  if (type.is_static()) {
    const auto bytes = ir::run_bytes(type);
    if (!bytes) return invalid_argument("{} is too large", type.to_string());
    tensor.size_bytes = *bytes;
  }
  // The enumerations have the same numbers on both sides of the boundary.
  tensor.element_type = static_cast<sluice_element_type>(type.element());
  tensor.layout = static_cast<sluice_layout>(type.layout());
  tensor.rank = static_cast<std::int32_t>(dims.size() - first);
  // Dims of several tensors may stand in one vector; the caller reserves it before the first one.
  tensor.dims = dims.data() + first;
  return tensor;
}

Result<sluice_tensor> make_constant(OpStorage& storage, const ir::Constant& constant) {
  sluice_tensor tensor = SLUICE_TRY(make_tensor(storage.dims.emplace_back(), constant.type));
  if (constant.type.element() == ir::ElementType::kString) {
    // Plug-ins read strings as texts, which point into the constant that is kept beside them.
    const ir::Constant& kept = storage.constants.emplace_back(constant);
    tensor.data = storage.texts.emplace_back(SLUICE_TRY(decode_texts(kept))).data();
    return tensor;
  }
  // A constant whose bytes were left out when the graph was saved: type and shape suffice where
  // backends are asked what they support.
  if (ir::is_left_out(constant)) return tensor;
  const auto held = static_cast<std::int64_t>(constant.data.size());
  if (tensor.size_bytes > held) {
    return invalid_argument("a constant {} has {} of {} bytes", constant.type.to_string(), held,
                            tensor.size_bytes);
  }
  // Shares the bytes: a constant holds a reference to its memory, usually the mapped package.
  const ir::Constant& kept = storage.constants.emplace_back(constant);
  tensor.data = const_cast<std::byte*>(kept.data.data());  // NOLINT: plug-ins only read inputs
  return tensor;
}

Result<const std::vector<sluice_attribute>*> make_attributes(OpStorage& storage,
                                                             const ir::Attributes& attributes) {
  std::vector<sluice_attribute>& made = storage.attributes.emplace_back();
  for (const auto& [name, value] : attributes) {
    sluice_attribute attribute = {};
    attribute.name = name.c_str();
    SLUICE_TRY(std::visit(AttributeWriter{storage, attribute}, value)
                   .with_context("attribute \"" + name + "\""));
    made.push_back(attribute);
  }
  return &made;
}

}  // namespace sluice::backend
