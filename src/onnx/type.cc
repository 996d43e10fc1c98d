#include "onnx/type.h"

#include <algorithm>
#include <string_view>

#include "ir/dim_facts.h"
#include "onnx/maps.h"

namespace sluice::onnx {
namespace {

constexpr int kMaxRank = 64;
constexpr int kMaxNesting = 8;  // what ir::parse_type reads back
// Symbols are multiplied into longer names; the file may give any text.
constexpr std::size_t kMaxSymbolLength = 48;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A valid symbol like `text`. Those with a leading '_' are left to type inference.
std::string to_symbol(std::string_view text) {
  std::string symbol(text.substr(0, kMaxSymbolLength));
  for (char& c : symbol) {
    if (!is_letter(c) && !is_digit(c) && c != '.') c = '_';
  }
  if (symbol.empty() || !is_letter(symbol.front()) || ir::is_dim_function(symbol)) {
    symbol.insert(0, "d_");
  }
  return symbol;
}

}  // namespace

std::string TypeReader::unused_symbol(const std::string& wanted) {
  std::string symbol = wanted;
  // Two texts of a file may become one symbol, which must not make their dimensions equal.
  for (int i = 2; !used_.insert(symbol).second; ++i) symbol = fmt::format("{}.{}", wanted, i);
  return symbol;
}

std::string TypeReader::symbol_for(const std::string& dim_param) {
  const auto known = symbols_.find(dim_param);
  if (known != symbols_.end()) return known->second;
  return symbols_.emplace(dim_param, unused_symbol(to_symbol(dim_param))).first->second;
}

Result<ir::Dim> TypeReader::read_dim(const pb::TensorShapeProto_Dimension& proto,
                                     const std::string& fallback_name) {
  if (proto.has_dim_value() && proto.dim_value() >= 0) return ir::Dim(proto.dim_value());
  if (proto.dim_param().empty()) {  // some exporters write -1 for "unknown"
    return new_dim(fallback_name);
  }
  const auto bound = bound_.find(proto.dim_param());
  if (bound != bound_.end()) return ir::Dim(bound->second);
  return ir::Dim::symbol(symbol_for(proto.dim_param()));
}

Result<ir::Type> TypeReader::read_tensor(const pb::TypeProto_Tensor& proto,
                                         const std::string& value_name) {
  const auto element = ir::element_type_from_onnx(proto.elem_type());
  if (!element && proto.elem_type() != 0) {
    return invalid_argument("has the unknown element type {}", proto.elem_type());
  }
  const auto known = element.value_or(ir::ElementType::kUndefined);
  if (!proto.has_shape()) return ir::Type::tensor(known);
  if (proto.shape().dim_size() > kMaxRank) {
    return invalid_argument("has {} dimensions; at most {} are supported", proto.shape().dim_size(),
                            kMaxRank);
  }
  ir::Shape shape;
  for (int i = 0; i < proto.shape().dim_size(); ++i) {
    shape.push_back(
        SLUICE_TRY(read_dim(proto.shape().dim(i), fmt::format("{}_dim{}", value_name, i))));
  }
  return ir::Type::tensor(known, std::move(shape));
}

Result<ir::Type> TypeReader::read_nested(const pb::TypeProto& proto, const std::string& value_name,
                                         int depth) {
  if (depth > kMaxNesting) return invalid_argument("has a type nested too deeply");
  if (ir::Type columns = SLUICE_TRY(map_columns(proto)); columns.is_tensor()) return columns;
  switch (proto.value_case()) {
    case pb::TypeProto::kTensorType: return read_tensor(proto.tensor_type(), value_name);
    case pb::TypeProto::kSequenceType:
      return ir::Type::sequence(
          SLUICE_TRY(read_nested(proto.sequence_type().elem_type(), value_name, depth + 1)));
    case pb::TypeProto::kOptionalType:
      return ir::Type::optional(
          SLUICE_TRY(read_nested(proto.optional_type().elem_type(), value_name, depth + 1)));
    default: return ir::Type();
  }
}

Result<ir::Type> TypeReader::read(const pb::TypeProto& proto, const std::string& value_name) {
  return read_nested(proto, value_name, 0);
}

ir::Dim TypeReader::new_dim(const std::string& wanted) {
  return ir::Dim::symbol(unused_symbol(to_symbol(wanted)));
}

Status TypeReader::bind(const pb::TypeProto& proto, std::span<const std::int64_t> dims) {
  if (!proto.has_tensor_type()) return invalid_argument("is not a tensor and takes no shape");
  if (std::any_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim < 0; })) {
    return invalid_argument("cannot have a negative dimension");
  }
  if (!proto.tensor_type().has_shape()) return ok_status();
  const auto& shape = proto.tensor_type().shape();
  if (shape.dim_size() != static_cast<int>(dims.size())) {
    return invalid_argument("has {} dimensions in the model, {} are requested", shape.dim_size(),
                            dims.size());
  }
  for (int i = 0; i < shape.dim_size(); ++i) {
    const auto& declared = shape.dim(i);
    const std::int64_t wanted = dims[static_cast<std::size_t>(i)];
    if (declared.has_dim_value() && declared.dim_value() >= 0 && declared.dim_value() != wanted) {
      return invalid_argument("dimension {} is {} in the model, {} is requested", i,
                              declared.dim_value(), wanted);
    }
    if (declared.dim_param().empty()) continue;
    // A name stands for one size wherever it occurs.
    SLUICE_TRY(bind(declared.dim_param(), wanted).with_context(fmt::format("dimension {}", i)));
  }
  return ok_status();
}

Status TypeReader::bind(const std::string& dim_param, std::int64_t dim) {
  if (dim < 0) return invalid_argument("\"{}\" cannot be negative", dim_param);
  const auto [it, is_new] = bound_.emplace(dim_param, dim);
  if (is_new || it->second == dim) return ok_status();
  return invalid_argument("\"{}\" is {} elsewhere; {} is requested", dim_param, it->second, dim);
}

Result<ir::Type> TypeReader::read_bound(const pb::TypeProto& proto,
                                        std::span<const std::int64_t> dims) {
  const ir::Type declared = SLUICE_TRY(read(proto, ""));
  return declared.with_shape(ir::Shape(dims.begin(), dims.end()));
}

}  // namespace sluice::onnx
