// An operation as plug-ins see it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "sluice/backend.h"

namespace sluice::backend {

/// The source of an `Op`. Borrowed for the call that creates it.
struct OpSource {
  const ir::Graph& graph;
  const ir::Subgraph& subgraph;
  const ir::Operation& operation;
  /// The type of an operand of `subgraph`; null: the operand's declared type. Set it to replace
  /// symbols by numbers, or one layout by another. Dimensions that stay symbolic become -1.
  std::function<ir::Type(ir::OperandId)> type_of = nullptr;
  /// Packed bytes by input; shorter than the inputs, or an empty span, for none. Not owned: they
  /// live as long as the Op.
  std::vector<std::span<const std::byte>> packed = {};
  /// Stand for the bytes of constants of `subgraph`.
  std::map<ir::OperandId, Bytes> values = {};
};

/// A C `sluice_op` with all that it points to; constants' bytes are shared, never copied.
///
/// Immutable value type: copies share, across threads too.
class Op {
 public:
  /// Fails: kFailedPrecondition  a constant is left out and not packed
  ///        kInvalidArgument  an operand is no tensor of known rank, a static one is larger than
  ///                          2^63 bytes, or a body is not straight-line
  ///        kUnimplemented    an attribute is a subgraph or type, which never cross the boundary
  static Result<Op> create(const OpSource& source);

  /// The same operation for operands of other types, by operand. Attributes, the body, values of
  /// constants and packed bytes are shared with this one, whose `operation` it is.
  /// Fails: kInvalidArgument as above.
  Result<Op> with_types(const ir::Operation& operation,
                        const std::function<const ir::Type&(ir::OperandId)>& type_of) const;

  const sluice_op& get() const { return *op_; }
  /// "node \"conv1\" (Conv)": for messages.
  std::string describe() const;

 private:
  explicit Op(std::shared_ptr<const sluice_op> op, std::shared_ptr<const sluice_op> first = nullptr)
      : op_(std::move(op)), first_(std::move(first)) {}
  std::shared_ptr<const sluice_op> op_;
  std::shared_ptr<const sluice_op> first_;  // null, or what `op_` shares: no chain of many
};

}  // namespace sluice::backend
