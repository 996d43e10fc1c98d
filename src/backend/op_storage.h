// The C form of fused bodies, tensors and attributes; see op.h.
#pragma once

#include <deque>

#include "backend/op.h"

namespace sluice::backend {

/// Owns the memory that one `sluice_op` points to. Containers only grow, and deques never move
/// their elements, so pointers stay valid.
struct OpStorage {
  sluice_op op = {};
  ir::Operation operation;          // names, attributes and constants' bytes
  std::deque<ir::Operation> steps;  // as above, of the body
  std::deque<ir::Constant> constants;
  std::deque<std::vector<std::int64_t>> dims;
  std::deque<sluice_tensor> tensors;
  std::deque<std::vector<sluice_text>> texts;  // of attributes and of constants of strings
  std::deque<std::vector<sluice_attribute>> attributes;
  std::deque<std::vector<std::int32_t>> registers;
  std::vector<sluice_operand> inputs;
  std::vector<sluice_operand> outputs;
  std::vector<sluice_operand> body_inputs;
  std::vector<sluice_tensor> body_constants;
  std::vector<sluice_body_step> body_steps;
  sluice_body body = {};
};

/// Appends the dimensions to `dims`, which must not move its elements any more.
/// Fails: kInvalidArgument if `type` is no tensor of known rank, or too large.
Result<sluice_tensor> make_tensor(std::vector<std::int64_t>& dims, const ir::Type& type);

/// A tensor with the constant's bytes, which the storage keeps alive.
Result<sluice_tensor> make_constant(OpStorage& storage, const ir::Constant& constant);

/// Requires: `attributes` lives in `storage`.
Result<const std::vector<sluice_attribute>*> make_attributes(OpStorage& storage,
                                                             const ir::Attributes& attributes);

/// Fills in `storage.body` from a straight-line subgraph.
Status make_body(OpStorage& storage, const ir::Subgraph& body);

}  // namespace sluice::backend
