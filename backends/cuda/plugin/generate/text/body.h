// The element-wise body that follows an operation.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plugin/generate/text/text.h"

namespace sluice::cuda {

/// Ok if all operands and the body's constants are row-major f32, f16 or bf16, the operation's own
/// of one type, and the body's steps have formulas. Absent optional operands do not count; nor do
/// the inputs from `num_floats` on.
Status check_floats(const sluice_op& op, int num_floats);

/// Ok for an operation that moves elements of its first `num_moved` inputs to its outputs: all have
/// one type, of any kind that kernels know; with a body as check_floats.
Status check_moved(const sluice_op& op, int num_moved);

/// Adds the body's inputs to the parameters.
void add_body_inputs(const sluice_op& op, Parameters* parameters);

/// Declares the body's constants of several elements, ahead of the kernel.
std::string constants_text(const sluice_op& op);

/// Statements that apply the body to `value`, the operation's own result at the flat index `index`
/// of output 0. `read` gives the body's input of a number as an expression. The result is the
/// expression `result`.
/// Requires: as store_result.
std::string apply_body(const sluice_op& op, const std::string& value, const std::string& index,
                       const std::function<std::string(int input)>& read, std::string* result);

/// Statements that apply the body as apply_body, and store the result in output 0. `value` is not
/// read if the operation is only a body. Requires: check_floats was ok, and every dimension is
/// known.
std::string store_result(const sluice_op& op, const std::string& value, const std::string& index);

/// A kernel whose threads compute an element of output 0 each.
struct ElementKernel {
  /// The element `i` of the thread, as an expression; not read if the operation is only a body.
  std::string value;
  /// Statements ahead of it.
  std::string statements = {};
  unsigned threads = 256;    // of a block
  std::int64_t largest = 0;  // elements of the largest tensor that indices reach, besides output 0
};

/// Writes the kernel, with the body and its inputs behind `parameters`.
/// Requires: as store_result.
/// Fails: UNIMPLEMENTED  a launch has too few blocks
Status write_kernel(const sluice_op& op, Parameters parameters, const ElementKernel& kernel,
                    Source* source);

}  // namespace sluice::cuda
