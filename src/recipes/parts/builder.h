// Records a graph whose constants are weights of a file.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "trace/recorder.h"
#include "weights/weights.h"

namespace sluice::recipes {

using ir::OperandId;

/// A front of trace::Recorder that keeps the first error: later calls record nothing and give
/// invalid operands. Borrows the weights until `finish`. Used by one thread.
class Builder {
 public:
  using Attributes = std::vector<std::pair<const char*, ir::Attribute>>;
  using Ints = std::vector<std::int64_t>;

  explicit Builder(const weights::Weights& weights) : weights_(weights) {}

  OperandId input(const std::string& name, ir::Type type);
  void output(const std::string& name, OperandId value);
  /// One output of an operator of ONNX, or of `domain`.
  OperandId op(const char* kind, std::vector<OperandId> inputs, const Attributes& attributes = {},
               const char* domain = "");

  OperandId ints(const Ints& values);  ///< [n]
  OperandId ints(const Ints& values, ir::Shape shape);
  OperandId floats(const std::vector<float>& values, ir::Shape shape);
  OperandId cast(OperandId x, ir::ElementType element);

  /// A tensor of the file as it is there: f32, f16 or bf16.
  OperandId weight(const std::string& name, const Ints& dims);
  /// As above, in f32.
  OperandId wide_weight(const std::string& name, const Ints& dims);
  bool has_weight(std::string_view name) const { return weights_.find(name) != nullptr; }

  /// x [S, in] times the transpose of the weight `name` [out, in]: [S, out].
  OperandId product(OperandId x, const std::string& name, std::int64_t out, std::int64_t in);

  void fail(Status status);
  /// Fails: the first error; kUnimplemented for a weight that nothing read.
  Result<ir::Graph> finish() const;

 private:
  template <typename T>
  T take(Result<T> result) {
    if (result.is_ok()) return std::move(result).value();
    fail(std::move(result).status());
    return {};
  }

  const weights::Weights& weights_;
  trace::Recorder recorder_;
  std::map<std::string, OperandId> read_;  ///< weights by name
  Status status_;
};

}  // namespace sluice::recipes
