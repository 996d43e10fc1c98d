// The packed form of the table of sluice::TreeRegressor and sluice::TreeClassifier: the lists of a
// TreeTable, one behind the other. A kernel walks them where they lie.
#pragma once

#include <cstdint>

#include "ops/ml/tree_table.h"

namespace sluice::cpu {

/// The input that is packed.
inline constexpr int kTreesInput = 1;

/// Size in bytes of the packed form, which follows from attributes and the table's shape; 0 for
/// trees that have none: irregular or too large ones. The table may be absent.
std::int64_t packed_trees_bytes(const sluice_op& op);

/// Packs the table. Bytes that `view_packed_trees` refuses stand for a table that is not what its
/// shape and attributes promise.
/// Requires: packed_trees_bytes(op) bytes at `to`, and the table's value.
void pack_trees(const sluice_op& op, void* to);

/// The trees in the packed table of `op`, whose dimensions are known; valid while its bytes are.
/// The bytes are outside input: every index that a walk of `view` meets is inside its list. Time:
/// linear in the packed bytes.
/// Fails: SLUICE_INVALID_ARGUMENT for bytes of another size or with an index outside its list.
Status view_packed_trees(const sluice_op& op, TreeView* view);

}  // namespace sluice::cpu
