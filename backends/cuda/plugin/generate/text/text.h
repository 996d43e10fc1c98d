// Index arithmetic, literals and parameter lists of generated kernels.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/generate/text/source.h"

namespace sluice::cuda {

using Dims = std::span<const std::int64_t>;

/// Dimensions agree as far as both are known.
inline bool agree(std::int64_t a, std::int64_t b) { return a == b || a < 0 || b < 0; }
bool agree(Dims a, Dims b);

/// Whether a tensor of `operand` stretches to `dims`, as far as dimensions are known.
bool broadcasts_to(Dims operand, Dims dims);

/// INVALID_ARGUMENT: the shapes of an operation contradict each other; names them all.
Status shapes_disagree(const sluice_op& op);

/// The text, in which `$0` to `$9` stand for the inputs.
std::string fill(std::string_view text, const std::vector<std::string>& inputs);
/// As an expression in parentheses.
std::string fill_expression(std::string_view text, const std::vector<std::string>& inputs);

/// A float as CUDA text with exactly its bits.
std::string literal(float value);

struct Axis {
  std::int64_t extent;
  std::int64_t stride;  // 0: the operand is stretched
};

/// Axes from the outermost on, without those of 1 place. Neighbours that are one axis to the
/// operand become one.
std::vector<Axis> merge(std::span<const Axis> axes);

/// The axes of `dims` with the strides of an operand, merged. Requires: `operand` broadcasts to it.
std::vector<Axis> stretched_axes(Dims operand, Dims dims);

/// The index of an operand's element that belongs to element `index` of a tensor of `dims`, as
/// text: the operand is stretched along the axes where it has 1 element. Requires: `operand`
/// broadcasts to `dims`.
std::string broadcast_index(const std::string& index, Dims operand, Dims dims);

/// The offset of element `index`, counted row by row over `extents`, where a step along an axis is
/// `strides` elements.
std::string strided_index(const std::string& index, Dims extents, Dims strides);

/// The offset of position `index` in the axes `axes` of a row-major tensor of `dims`, counted row
/// by row over these axes alone.
std::string offset_along(const std::string& index, Dims dims, std::span<const std::size_t> axes);

/// Joins what the parameters of a kernel are called with what they point at. Collects
/// Source::operands on the way. Borrows the operation.
class Parameters {
 public:
  explicit Parameters(const sluice_op& op) : op_(&op) {}
  /// Adds an input and returns its name. An absent operand gets none.
  std::string add(int operand);
  /// Adds an output besides output 0, which is always there and called `y`.
  std::string add_output(int output);
  /// The kernel meets indices that only a run knows, and checks them by check_index.
  void report_indices() { reports_indices_ = true; }
  bool reports_indices() const { return reports_indices_; }
  /// "const float* x0, const F16* x3, float* y".
  std::string declarations() const;
  /// As Source::operands.
  std::vector<int> operands() const;
  const sluice_op& op() const { return *op_; }

 private:
  const sluice_op* op_;
  std::vector<int> inputs_;
  std::vector<int> outputs_ = {0};
  bool reports_indices_ = false;
};

/// The statements that turn the variable `at`, an index of an axis that may count from its end,
/// into a place. A thread with an index outside of the axis reports it and returns. Requires:
/// Parameters::report_indices.
std::string check_index(std::int64_t extent, std::size_t axis);
/// As above for a variable `at` that must be in [0, `end`) and does not count from the end.
std::string check_place(std::int64_t end, std::int64_t extent, std::size_t axis);

/// The head of a kernel up to its brace: index type, element types, functions, name, parameters.
/// `functions` may use the types; `bounds` are those of the launch, with a blank behind.
std::string kernel_head(const Parameters& parameters, std::int64_t num_elements,
                        const std::string& functions = {}, const std::string& bounds = {});

/// Finds the element `i` of a thread and returns if there is none.
std::string find_element(unsigned threads, std::int64_t num_elements);

/// Largest number of elements that 32-bit indices reach with room for the last block.
inline constexpr std::int64_t kMaxShortIndex = std::int64_t{1} << 31;

/// `count` things in groups of `size`: the grid's first dimension. False if a grid has no room.
bool set_grid(std::int64_t count, std::int64_t size, Source* source);

/// UNIMPLEMENTED: no launch has room for the sizes of an operation.
Status too_large(const sluice_op& op);

}  // namespace sluice::cuda
