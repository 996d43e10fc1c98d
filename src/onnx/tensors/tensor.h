// TensorProto and SparseTensorProto to ir::Constant.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ir/attribute.h"
#include "onnx/proto/proto.h"
#include "onnx/tensors/external_data.h"

namespace sluice::onnx {

/// Reads each tensor once: a raw tensor's bytes move out of its message into the constant, and
/// asking again gives the same constant. Used by one thread.
class TensorReader {
 public:
  explicit TensorReader(std::vector<Folder> folders) : external_(std::move(folders)) {}

  /// The raw data of a tensor whose message lacks it.
  void add_raw_data(const pb::TensorProto& tensor, Bytes data) {
    raw_data_.emplace(&tensor, std::move(data));
  }

  /// Fails: kInvalidArgument naming the tensor; what ExternalData::read fails with.
  Result<ir::Constant> read(pb::TensorProto& tensor);

  /// All elements, zeros included.
  /// Fails: as above; kResourceExhausted if a model's dense tensors would pass 1 GiB in all.
  Result<ir::Constant> read_dense(pb::SparseTensorProto& tensor);

 private:
  Result<ir::Constant> convert(pb::TensorProto& tensor);
  Result<Bytes> read_bytes(pb::TensorProto& tensor, ir::ElementType element, std::int64_t count);

  ExternalData external_;
  std::unordered_map<const void*, Bytes> raw_data_;  // by tensor
  std::unordered_map<const void*, ir::Constant> constants_;
  std::int64_t dense_bytes_ = 0;
};

}  // namespace sluice::onnx
