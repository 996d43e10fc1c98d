// The part of an operation's element-wise body that a library computes with its product.
#pragma once

#include <cstdint>

#include "sluice/backend.hpp"

namespace sluice::cuda {

/// y = product + bias + addend, the first steps of a body. Operands have the numbers of the
/// operation's inputs, then of its body's; -1 for none.
struct Epilogue {
  int bias = -1;      ///< an element per place along the axis of the bias
  int addend = -1;    ///< a tensor of the output's shape
  int num_steps = 0;  ///< steps of the body that it stands for
};

/// What of `op`'s body a library computes that adds a vector along axis `axis` of the output, and a
/// tensor. `own` says what the library adds before the body, and gets what it adds in all. An
/// operand with another element type than the output stays in the body.
/// Requires: check_op was ok.
Epilogue match_epilogue(const sluice_op& op, std::size_t axis, Epilogue own);

}  // namespace sluice::cuda
