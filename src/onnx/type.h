// TypeProto to ir::Type, with the names of unknown dimensions made into symbols.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "ir/type.h"
#include "onnx/proto/proto.h"

namespace sluice::onnx {

/// One dim_param is one symbol throughout a model. Used by one thread.
class TypeReader {
 public:
  /// `value_name` names the unnamed dimensions, after it. Maps and lists of maps read as their
  /// columns (see maps.h), opaque and sparse types as unknown: no operator takes them.
  /// Fails: kInvalidArgument.
  Result<ir::Type> read(const pb::TypeProto& proto, const std::string& value_name);

  /// Holds the declared type of an input to the dimensions that the user wants of it, and binds
  /// its symbols in all types read from now on.
  /// Fails: kInvalidArgument if rank or a known dimension differs, or a symbol is bound already.
  Status bind(const pb::TypeProto& proto, std::span<const std::int64_t> dims);

  /// The same for one symbol, by its dim_param in the file.
  Status bind(const std::string& dim_param, std::int64_t dim);

  /// A symbol like `wanted` that no dimension of the model has.
  ir::Dim new_dim(const std::string& wanted);

  /// The type with its shape replaced. Requires: bind() took both.
  Result<ir::Type> read_bound(const pb::TypeProto& proto, std::span<const std::int64_t> dims);

 private:
  Result<ir::Type> read_nested(const pb::TypeProto& proto, const std::string& value_name,
                               int depth);
  Result<ir::Type> read_tensor(const pb::TypeProto_Tensor& proto, const std::string& value_name);
  Result<ir::Dim> read_dim(const pb::TensorShapeProto_Dimension& proto,
                           const std::string& fallback_name);
  /// A symbol that no other dim_param has.
  std::string symbol_for(const std::string& dim_param);
  std::string unused_symbol(const std::string& wanted);

  std::map<std::string, std::string> symbols_;  // by dim_param
  std::set<std::string> used_;                  // symbols
  std::map<std::string, std::int64_t> bound_;   // by dim_param
};

}  // namespace sluice::onnx
