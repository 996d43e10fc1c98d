#include "onnx/tensors/value_file.h"

#include <onnx/onnx-data_pb.h>

#include <limits>
#include <utility>

#include "onnx/proto/proto.h"
#include "onnx/tensors/model_file.h"
#include "onnx/tensors/tensor.h"

namespace sluice::onnx {
namespace {

using Kind = ir::Type::Kind;

class ValueReader {
 public:
  explicit ValueReader(std::vector<Folder> folders) : tensors_(std::move(folders)) {}

  Result<FileValue> tensor(pb::TensorProto& proto) {
    // An empty file, or one of another kind, may parse as a tensor without a type.
    if (proto.data_type() == 0) return invalid_argument("holds no tensor");
    return FileValue{SLUICE_TRY(tensors_.read(proto)), std::nullopt};
  }

  Result<FileValue> sequence(pb::SequenceProto& proto) {
    if (proto.elem_type() != pb::SequenceProto::TENSOR &&
        proto.elem_type() != pb::SequenceProto::UNDEFINED) {
      return unimplemented("holds a sequence of other things than tensors");
    }
    std::vector<ir::Constant> items;
    for (pb::TensorProto& item : *proto.mutable_tensor_values()) {
      items.push_back(SLUICE_TRY(tensors_.read(item)));
    }
    return FileValue{std::nullopt, std::move(items)};
  }

  Result<FileValue> optional(pb::OptionalProto& proto) {
    switch (proto.elem_type()) {
      case pb::OptionalProto::UNDEFINED: return FileValue{};
      case pb::OptionalProto::TENSOR: return tensor(*proto.mutable_tensor_value());
      case pb::OptionalProto::SEQUENCE: return sequence(*proto.mutable_sequence_value());
      default: return unimplemented("holds an optional of neither tensor nor sequence");
    }
  }

 private:
  TensorReader tensors_;
};

template <typename Proto>
Result<Proto> parse(const Bytes& file) {
  Proto proto;
  // protobuf takes sizes as an int.
  const bool fits = file.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (fits && proto.ParseFromArray(file.data(), static_cast<int>(file.size()))) return proto;
  return invalid_argument("does not hold a value of this kind");
}

Result<FileValue> read(const Bytes& file, const ir::Type& type, ValueReader& reader) {
  if (type.kind() == Kind::kSequence) {
    auto proto = SLUICE_TRY(parse<pb::SequenceProto>(file));
    return reader.sequence(proto);
  }
  if (type.kind() == Kind::kOptional) {
    auto proto = SLUICE_TRY(parse<pb::OptionalProto>(file));
    return reader.optional(proto);
  }
  auto proto = SLUICE_TRY(parse<pb::TensorProto>(file));
  return reader.tensor(proto);
}

}  // namespace

Result<FileValue> read_value_file(const std::filesystem::path& path, const ir::Type& type) {
  ModelFile file = SLUICE_TRY(open_model_file(path));
  ValueReader reader(std::move(file.folders));
  return read(file.bytes, type, reader).with_context(path.string());
}

}  // namespace sluice::onnx
