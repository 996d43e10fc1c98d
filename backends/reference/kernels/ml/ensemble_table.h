#pragma once

#include "reference/kernels/ml/ensemble.h"

namespace sluice::reference {

/// Reads nodes, roots and weights of sluice::TreeRegressor or sluice::TreeClassifier from their
/// table (src/ops/ml/trees.cc describes its rows). `ensemble->rules` are read already.
/// The table is outside input: every index in the result is inside its list, and children stand
/// behind their parents.
/// Fails: SLUICE_INVALID_ARGUMENT, also for a table that is not constant.
Status read_table(const sluice_op& op, Ensemble* ensemble);

}  // namespace sluice::reference
