// Tensors whose bytes lie in files beside the model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/system/folder.h"
#include "onnx/proto/proto.h"

namespace sluice::onnx {

/// Maps each file once. Used by one thread.
///
/// A location is looked for in the model's folders in order. A link may lead from a folder to the
/// last one, as in the caches of model hubs, whose folders have links to files of other names.
class ExternalData {
 public:
  /// Empty: no external data is read.
  explicit ExternalData(std::vector<Folder> folders) : folders_(std::move(folders)) {}

  /// A slice of the mapped file, or a copy if it is not aligned for `element_bytes`.
  /// Fails: kInvalidArgument for a place outside the folders or the file, or another length than
  ///        `size_bytes`; kNotFound.
  Result<Bytes> read(const pb::TensorProto& tensor, std::int64_t size_bytes,
                     std::int64_t element_bytes);

 private:
  Result<Bytes> map(const std::string& location);
  Result<Bytes> find(const std::string& location) const;

  std::vector<Folder> folders_;
  std::map<std::string, Bytes> files_;  // by location
};

}  // namespace sluice::onnx
