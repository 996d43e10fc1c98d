// What the attention operators of com.microsoft share: rows cut into heads, and put together again.
#pragma once

#include "ops/lowering/lowering.h"

namespace sluice::ops {

/// The number of heads in attribute `name`.
/// Fails: kInvalidArgument if it is not positive or too large.
Result<std::int64_t> count_heads(const Lowering& op, std::string_view name = "num_heads");

/// [B, S, H * D] as [B, H, S, D].
Result<ir::OperandId> split_heads(Lowering& op, ir::OperandId x, std::int64_t heads);

/// Output 0: [B, H, S, D] as [B, S, H * D].
Status finish_heads(Lowering& op, ir::OperandId y);

/// The sum of `a` and `b` if both are present; otherwise the one present, or none.
Result<ir::OperandId> sum_of(Lowering& op, ir::OperandId a, ir::OperandId b);

}  // namespace sluice::ops
