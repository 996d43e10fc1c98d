#include <limits>
#include <optional>

#include "passes/lower/operator_rewrites.h"

namespace sluice::passes {
namespace {

using ir::OperandId;

constexpr std::int64_t kLast = -1;

/// x[..., begin:end:step].
Result<OperandId> columns(ops::Lowering& op, OperandId x, std::int64_t begin, std::int64_t end,
                          std::int64_t step) {
  return op.emit("Slice", {x, op.ints({begin}), op.ints({end}), op.ints({kLast}), op.ints({step})});
}

/// The places of rows, or nullopt without such an input. Gather counts negative ones from the end:
/// the least number, which is outside of every cache, takes their place.
Result<std::optional<OperandId>> places_of(ops::Lowering& op) {
  if (!op.has(3)) return std::optional<OperandId>();
  constexpr std::int64_t kOutside = std::numeric_limits<std::int64_t>::min();
  const OperandId is_negative = SLUICE_TRY(op.emit("Less", {op.input(3), op.ints({0})}));
  return std::optional(
      SLUICE_TRY(op.emit("Where", {is_negative, op.ints({kOutside}), op.input(3)})));
}

/// Rows of a cache, with an axis for the heads.
Result<OperandId> rows_of(ops::Lowering& op, std::size_t cache,
                          const std::optional<OperandId>& places, std::int64_t heads_axis) {
  OperandId rows = op.input(cache);
  if (places) rows = SLUICE_TRY(op.emit("Gather", {rows, *places}, {{"axis", std::int64_t{0}}}));
  return op.emit("Unsqueeze", {rows, op.ints({heads_axis})});
}

/// a * p + b * q, or the difference.
Result<OperandId> mixed(ops::Lowering& op, OperandId a, OperandId p, std::string_view sign,
                        OperandId b, OperandId q) {
  const OperandId left = SLUICE_TRY(op.emit("Mul", {a, p}));
  return op.emit(sign, {left, SLUICE_TRY(op.emit("Mul", {b, q}))});
}

struct Turned {
  OperandId x;
  std::int64_t size = 0;        ///< of a head
  std::int64_t turned = 0;      ///< how many of its first columns turn
  std::int64_t heads_axis = 1;  ///< of x
};

Result<OperandId> turn(ops::Lowering& op, const Turned& t) {
  const auto places = SLUICE_TRY(places_of(op));
  const OperandId cosines = SLUICE_TRY(rows_of(op, 1, places, t.heads_axis));
  const OperandId sines = SLUICE_TRY(rows_of(op, 2, places, t.heads_axis));
  const std::int64_t half = t.turned / 2;
  const bool alternates = op.int_of("interleaved") != 0;
  const OperandId a = alternates ? SLUICE_TRY(columns(op, t.x, 0, t.turned, 2))
                                 : SLUICE_TRY(columns(op, t.x, 0, half, 1));
  const OperandId b = alternates ? SLUICE_TRY(columns(op, t.x, 1, t.turned, 2))
                                 : SLUICE_TRY(columns(op, t.x, half, t.turned, 1));
  ops::Lowering::Inputs parts = {SLUICE_TRY(mixed(op, a, cosines, "Sub", b, sines)),
                                 SLUICE_TRY(mixed(op, a, sines, "Add", b, cosines))};
  if (alternates) {
    for (OperandId& part : parts) {
      part = SLUICE_TRY(op.emit("Unsqueeze", {part, op.ints({kLast})}));
    }
    const OperandId pairs = SLUICE_TRY(op.emit("Concat", parts, {{"axis", kLast}}));
    parts = {SLUICE_TRY(op.emit("Reshape", {pairs, op.ints({0, 0, 0, t.turned})}))};
  }
  if (t.turned < t.size) {
    parts.push_back(SLUICE_TRY(columns(op, t.x, t.turned, t.size, 1)));
  }
  if (parts.size() == 1) return parts[0];
  return op.emit("Concat", parts, {{"axis", kLast}});
}

}  // namespace

Status rewrite_rotary_embedding(ops::Lowering& op) {
  const std::size_t rank = SLUICE_TRY(op.rank(0));
  const std::int64_t heads = op.int_of("num_heads");
  Turned t = {op.input(0), SLUICE_TRY(op.dim(0, rank - 1)), op.int_of("rotary_embedding_dim"), 1};
  if (rank == 3) {
    if (heads < 1 || t.size % heads != 0) return unimplemented("{} heads", heads);
    t.x = SLUICE_TRY(op.emit("Reshape", {t.x, op.ints({0, 0, heads, -1})}));
    t.size /= heads;
    t.heads_axis = 2;
  } else if (rank != 4) {
    return unimplemented("rank {}", rank);
  }
  const std::size_t cache_rank = op.has(3) ? 2 : 3;
  if (SLUICE_TRY(op.rank(1)) != cache_rank || SLUICE_TRY(op.rank(2)) != cache_rank) {
    return unimplemented("caches of another rank");
  }
  if (t.turned == 0) t.turned = t.size;
  if (t.turned < 2 || t.turned % 2 != 0 || t.turned > t.size) {
    return unimplemented("{} of {} columns", t.turned, t.size);
  }
  const OperandId y = SLUICE_TRY(turn(op, t));
  return rank == 3 ? op.finish("Reshape", {y, op.ints({0, 0, -1})}) : op.finish("Identity", {y});
}

}  // namespace sluice::passes
