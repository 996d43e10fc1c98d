// Tensors whose bytes lie in files beside the model.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "onnx/proto/proto.h"

namespace sluice::onnx {

/// Maps each file once. Used by one thread.
class ExternalData {
 public:
  /// `folder` empty: no external data is read.
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// A slice of the mapped file, or a copy if it is not aligned for `element_bytes`.
  /// Fails: kInvalidArgument for a place outside the folder or the file, or another length than
  ///        `size_bytes`; kNotFound.
  Result<Bytes> read(const pb::TensorProto& tensor, std::int64_t size_bytes,
                     std::int64_t element_bytes);

 private:
  Result<Bytes> map(const std::string& location);

  std::filesystem::path folder_;
  std::map<std::string, Bytes> files_;  // by location
};

}  // namespace sluice::onnx
