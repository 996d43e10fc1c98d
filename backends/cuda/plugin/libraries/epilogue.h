// The part of an operation's element-wise body that a library computes with its product.
#pragma once

#include <cstdint>

#include "sluice/backend.hpp"

namespace sluice::cuda {

/// y = relu(product + bias + addend), the first steps of a body. Operands have the numbers of the
/// operation's inputs, then of its body's; -1 for none.
struct Epilogue {
  int bias = -1;    ///< an element per place along the axis of the bias
  int addend = -1;  ///< a tensor of the output's shape
  bool has_relu = false;
  int num_steps = 0;  ///< steps of the body that it stands for
};

/// What a library computes besides a bias.
struct EpilogueAbilities {
  bool addend = true;
  bool relu = false;
};

/// What of `op`'s body a library computes that adds a vector along axis `axis` of the output. `own`
/// is what it computes ahead of the body. An operand with another element type than the output
/// stays in the body.
/// Requires: check_op was ok.
Epilogue match_epilogue(const sluice_op& op, std::size_t axis, Epilogue own,
                        EpilogueAbilities abilities);

}  // namespace sluice::cuda
