// Records a graph whose constants are weights of a file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "recipes/parts/adapters.h"
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
  /// All of `count` outputs; as many invalid operands after an error.
  std::vector<OperandId> ops(const char* kind, std::vector<OperandId> inputs, std::size_t count,
                             const Attributes& attributes = {}, const char* domain = "");

  OperandId ints(const Ints& values);  ///< [n]
  OperandId ints(const Ints& values, ir::Shape shape);
  OperandId floats(const std::vector<float>& values, ir::Shape shape);
  OperandId cast(OperandId x, ir::ElementType element);

  /// A tensor of the file as it is there: f32, f16 or bf16.
  OperandId weight(const std::string& name, const Ints& dims);
  /// As above, in f32.
  OperandId wide_weight(const std::string& name, const Ints& dims);
  /// Weights whose names begin so need not be read.
  void ignore(std::string prefix) { ignored_.push_back(std::move(prefix)); }
  bool has_weight(std::string_view name) const {
    return weights_.find(name) != nullptr || weights_.find_blocks(name) != nullptr;
  }

  /// Rows of the weight `name` [dims], in f32: [S, dims[1]] for ids [S].
  OperandId rows(const std::string& name, OperandId ids, const Ints& dims);

  /// How a file has the matrix of a product.
  enum class Lies : std::uint8_t { kOutIn, kInOut };
  /// x [S, in] times the matrix `name`: [S, out]. Blocks are always [out, in].
  OperandId product(OperandId x, const std::string& name, std::int64_t out, std::int64_t in,
                    Lies lies = Lies::kOutIn);

  /// Products from now on have the changes of adapters, too. `routes` i64[S, 1]: the adapter of
  /// each row of x, or -1. Borrows the adapters.
  void adapt(Adapters& adapters, OperandId routes) {
    adapters_ = &adapters;
    routes_ = routes;
    row_scales_.clear();
  }

  /// The products of each row of x [S, in] or [S, J, in] with the J of `dims` = [count, out, in]
  /// matrices that `routes` [S, J] names: [S, J, out]. `name` has a place {} for the number of a
  /// matrix, "7."; a stack of all matrices has the name without number. The builder copies single
  /// matrices into a stack.
  OperandId routed_product(OperandId x, OperandId routes, const std::string& name,
                           const Ints& dims);

  void fail(Status status);
  /// Fails: the first error; kUnimplemented for a weight that nothing read.
  Result<ir::Graph> finish() const;

 private:
  /// The parts of a matrix of few bits, as constants. `zeros` may be invalid.
  struct BlockConstants {
    OperandId numbers, scales, zeros;
    std::int64_t block_size = 0;
  };
  Status check_read(const std::string& name) const;
  OperandId plain_product(OperandId x, const std::string& name, std::int64_t out, std::int64_t in,
                          Lies lies);
  OperandId scales_of_rows(const std::vector<float>& scales);
  OperandId stacked(const std::string& name, const Ints& dims);
  BlockConstants blocks(const std::string& name, const weights::Blocks& found, const Ints& dims);

  template <typename T>
  T take(Result<T> result) {
    if (result.is_ok()) return std::move(result).value();
    fail(std::move(result).status());
    return {};
  }

  const weights::Weights& weights_;
  trace::Recorder recorder_;
  std::map<std::string, OperandId> read_;  ///< weights by name; in a stack it is that of all
  std::map<std::string, BlockConstants> read_blocks_;
  std::vector<std::string> ignored_;  ///< begins of names
  Adapters* adapters_ = nullptr;      ///< null: none
  OperandId routes_;
  std::map<std::vector<float>, OperandId> row_scales_;  ///< by the scales of adapters
  Status status_;
};

}  // namespace sluice::recipes
