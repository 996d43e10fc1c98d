#include "ir/type.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace sluice::ir {

std::string_view layout_name(Layout layout) { return layout == Layout::kC16 ? "c16" : "row_major"; }

std::optional<Layout> find_layout(std::string_view name) {
  if (name == "row_major") return Layout::kRowMajor;
  if (name == "c16") return Layout::kC16;
  return std::nullopt;
}

Type Type::tensor(ElementType element, std::optional<Shape> shape, Layout layout) {
  Type type;
  type.kind_ = Kind::kTensor;
  type.element_ = element;
  type.shape_ = std::move(shape);
  type.layout_ = layout;
  return type;
}

Type Type::sequence(Type item) {
  Type type;
  type.kind_ = Kind::kSequence;
  // Shared and immutable: copies of types are frequent and their items deep.
  type.item_ = std::make_shared<const Type>(std::move(item));
  return type;
}

Type Type::optional(Type item) {
  Type type = sequence(std::move(item));
  type.kind_ = Kind::kOptional;
  return type;
}

Type Type::with_shape(std::optional<Shape> shape) const {
  Type type = *this;
  type.shape_ = std::move(shape);
  return type;
}

Type Type::with_element(ElementType element) const {
  Type type = *this;
  type.element_ = element;
  return type;
}

Type Type::with_layout(Layout layout) const {
  Type type = *this;
  type.layout_ = layout;
  return type;
}

std::optional<std::vector<std::int64_t>> Type::static_dims() const {
  if (kind_ != Kind::kTensor || !shape_) return std::nullopt;
  std::vector<std::int64_t> dims;
  dims.reserve(shape_->size());
  for (const Dim& dim : *shape_) {
    if (!dim.is_known()) return std::nullopt;
    dims.push_back(dim.value());
  }
  return dims;
}

bool Type::is_static() const {
  return kind_ == Kind::kTensor && shape_ && std::ranges::all_of(*shape_, &Dim::is_known);
}

std::string Type::to_string() const {
  switch (kind_) {
    case Kind::kUnknown: return "unknown";
    case Kind::kSequence: return "seq(" + item_->to_string() + ")";
    case Kind::kOptional: return "optional(" + item_->to_string() + ")";
    case Kind::kTensor: break;
  }
  std::string text(element_type_name(element_));
  text += shape_ ? shape_to_string(*shape_) : "[?]";
  if (layout_ != Layout::kRowMajor) text += "@" + std::string(layout_name(layout_));
  return text;
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind_ != b.kind_ || a.element_ != b.element_ || a.layout_ != b.layout_) return false;
  if (a.shape_ != b.shape_) return false;
  // Copies of a type share the item, so the pointers alone decide most of the time.
  return a.item_ == b.item_ || (a.item_ && b.item_ && *a.item_ == *b.item_);
}

std::string shape_to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ",";
    text += shape[i].to_string();
  }
  return text + "]";
}

// Every request asks for the sizes of its outputs, so this allocates nothing.
std::optional<std::int64_t> num_elements(const Shape& shape) {
  std::int64_t product = 1;
  bool is_empty = false;
  bool has_overflow = false;
  for (const Dim& dim : shape) {
    if (!dim.is_known()) return std::nullopt;
    // An empty tensor has 0 elements even if its other dimensions overflow, in any order.
    is_empty |= dim.value() == 0;
    has_overflow |= dim.value() < 0 || __builtin_mul_overflow(product, dim.value(), &product);
  }
  if (is_empty) return 0;
  return has_overflow ? std::nullopt : std::optional(product);
}

namespace {

/// Requires: the type is static.
std::optional<std::int64_t> num_stored(const Type& type) {
  if (type.layout() != Layout::kC16) return num_elements(*type.shape());
  Shape padded = *type.shape();
  if (padded.size() < 2) return std::nullopt;
  // Blocks of 16 channels; the last one is padded.
  padded[1] = ceil_div(padded[1], 16) * 16;
  return num_elements(padded);
}

}  // namespace

std::optional<std::int64_t> storage_bytes(const Type& type) {
  if (!type.is_static()) return std::nullopt;
  const auto elements = num_stored(type);
  return elements ? storage_bytes(type.element(), *elements) : std::nullopt;
}

std::optional<std::int64_t> run_bytes(const Type& type) {
  if (type.element() != ElementType::kString) return storage_bytes(type);
  constexpr std::int64_t kTextBytes = 16;  // a sluice_text
  const auto elements = type.is_static() ? num_elements(*type.shape()) : std::nullopt;
  return elements ? checked_mul(*elements, kTextBytes) : std::nullopt;
}

namespace {

Result<Shape> parse_shape(std::string_view text) {
  Shape shape;
  while (!text.empty()) {
    int depth = 0;
    std::size_t end = 0;
    // Symbolic dimensions such as max(N,1) have commas of their own.
    while (end < text.size() && (text[end] != ',' || depth > 0)) {
      depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
      ++end;
    }
    shape.push_back(SLUICE_TRY(parse_dim(text.substr(0, end))));
    if (end + 1 == text.size()) return invalid_argument("a shape ends in a comma");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shape;
}

Result<Type> parse_tensor_type(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.rfind(']');
  const auto element = find_element_type(text.substr(0, open));
  if (!element || open == std::string_view::npos || close == std::string_view::npos ||
      close < open) {
    return invalid_argument("\"{}\" is not a tensor type; one reads like f32[N,3,224,224]", text);
  }
  Layout layout = Layout::kRowMajor;
  if (const std::string_view suffix = text.substr(close + 1); !suffix.empty()) {
    const auto found = suffix.front() == '@' ? find_layout(suffix.substr(1)) : std::nullopt;
    if (!found) return invalid_argument("\"{}\" names no layout", text);
    layout = *found;
  }
  const std::string_view dims = text.substr(open + 1, close - open - 1);
  if (dims == "?") return Type::tensor(*element, std::nullopt, layout);
  return Type::tensor(*element, SLUICE_TRY(parse_shape(dims)), layout);
}

Result<Type> parse_nested(std::string_view text, int depth) {
  // Types come from files: without a limit a long text would exhaust the stack.
  constexpr int kMaxDepth = 8;
  if (depth > kMaxDepth) return invalid_argument("a type is nested too deeply");
  const auto inside = [&](std::string_view prefix) -> std::optional<std::string_view> {
    if (!text.starts_with(prefix) || !text.ends_with(")")) return std::nullopt;
    return text.substr(prefix.size(), text.size() - prefix.size() - 1);
  };
  if (text == "unknown") return Type();
  if (const auto item = inside("seq(")) {
    return Type::sequence(SLUICE_TRY(parse_nested(*item, depth + 1)));
  }
  if (const auto item = inside("optional(")) {
    return Type::optional(SLUICE_TRY(parse_nested(*item, depth + 1)));
  }
  return parse_tensor_type(text);
}

}  // namespace

Result<Type> parse_type(std::string_view text) { return parse_nested(text, 0); }

}  // namespace sluice::ir
