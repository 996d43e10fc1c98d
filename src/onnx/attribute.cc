#include "onnx/attribute.h"

namespace sluice::onnx {
namespace {

using Kind = pb::AttributeProto;

template <typename T, typename Repeated>
ir::Attribute list_of(const Repeated& values) {
  return ir::Attribute(std::vector<T>(values.begin(), values.end()));
}

Result<ir::Attribute> read_tensors(pb::AttributeProto& attribute, TensorReader& tensors) {
  std::vector<ir::Constant> constants;
  for (pb::TensorProto& tensor : *attribute.mutable_tensors()) {
    constants.push_back(SLUICE_TRY(tensors.read(tensor)));
  }
  for (pb::SparseTensorProto& tensor : *attribute.mutable_sparse_tensors()) {
    constants.push_back(SLUICE_TRY(tensors.read_dense(tensor)));
  }
  return ir::Attribute(std::move(constants));
}

Result<ir::Attribute> read_value(pb::AttributeProto& attribute, TensorReader& tensors,
                                 TypeReader& types) {
  switch (attribute_kind(attribute)) {
    case Kind::FLOAT: return ir::Attribute(attribute.f());
    case Kind::INT: return ir::Attribute(static_cast<std::int64_t>(attribute.i()));
    case Kind::STRING: return ir::Attribute(attribute.s());
    case Kind::FLOATS: return list_of<float>(attribute.floats());
    case Kind::INTS: return list_of<std::int64_t>(attribute.ints());
    case Kind::STRINGS: return list_of<std::string>(attribute.strings());
    case Kind::TENSOR: return ir::Attribute(SLUICE_TRY(tensors.read(*attribute.mutable_t())));
    case Kind::SPARSE_TENSOR:
      return ir::Attribute(SLUICE_TRY(tensors.read_dense(*attribute.mutable_sparse_tensor())));
    case Kind::TENSORS:
    case Kind::SPARSE_TENSORS: return read_tensors(attribute, tensors);
    case Kind::TYPE_PROTO: return ir::Attribute(SLUICE_TRY(types.read(attribute.tp(), "type")));
    case Kind::TYPE_PROTOS: return unimplemented("is a list of types");
    default: return invalid_argument("has no value");
  }
}

}  // namespace

pb::AttributeProto::AttributeType attribute_kind(const pb::AttributeProto& attribute) {
  if (attribute.type() != Kind::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return Kind::FLOAT;
  if (attribute.has_i()) return Kind::INT;
  if (attribute.has_s()) return Kind::STRING;
  if (attribute.has_t()) return Kind::TENSOR;
  if (attribute.has_g()) return Kind::GRAPH;
  if (attribute.floats_size() > 0) return Kind::FLOATS;
  if (attribute.ints_size() > 0) return Kind::INTS;
  if (attribute.strings_size() > 0) return Kind::STRINGS;
  if (attribute.tensors_size() > 0) return Kind::TENSORS;
  if (attribute.graphs_size() > 0) return Kind::GRAPHS;
  return Kind::UNDEFINED;
}

Result<ir::Attribute> read_attribute(pb::AttributeProto& attribute, TensorReader& tensors,
                                     TypeReader& types) {
  return read_value(attribute, tensors, types)
      .with_context("attribute \"" + attribute.name() + "\"");
}

}  // namespace sluice::onnx
