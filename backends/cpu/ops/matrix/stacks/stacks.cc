#include "ops/matrix/stacks/stacks.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace sluice::cpu {

using plugin::dims_of;
using plugin::unimplemented;

std::int64_t MatrixStacks::matrix_of(const Dims& strides, std::int64_t item) const {
  std::int64_t at = 0;
  for (std::size_t d = batch.size(); d-- > 0; item /= batch[d]) at += item % batch[d] * strides[d];
  return at;
}

std::int64_t MatrixStacks::matrices(const Dims& strides) const {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) last += (batch[d] - 1) * strides[d];
  return last + 1;
}

Status read_stacks(const sluice_op& op, MatrixStacks* stacks) {
  const auto a = dims_of(op.inputs[0].tensor);
  const auto b = dims_of(op.inputs[1].tensor);
  const auto y = dims_of(op.outputs[0].tensor);
  stacks->m = a.size() < 2 ? 1 : a[a.size() - 2];
  stacks->k = a.back();
  stacks->n = b.size() < 2 ? 1 : b.back();
  const Dims a_batch(a.begin(), a.end() - std::min<std::ptrdiff_t>(2, std::ssize(a)));
  const Dims b_batch(b.begin(), b.end() - std::min<std::ptrdiff_t>(2, std::ssize(b)));
  const std::ptrdiff_t own = (a.size() < 2 ? 0 : 1) + (b.size() < 2 ? 0 : 1);
  if (std::ssize(y) < own || stacks->k != (b.size() < 2 ? b[0] : b[b.size() - 2])) {
    return unimplemented("shapes that do not fit");
  }
  stacks->batch.assign(y.begin(), y.end() - own);
  if (!broadcasts_to(a_batch, stacks->batch) || !broadcasts_to(b_batch, stacks->batch)) {
    return unimplemented("stacks that do not fit the result's");
  }
  stacks->a_strides = broadcast_strides(a_batch, stacks->batch);
  stacks->b_strides = broadcast_strides(b_batch, stacks->batch);
  return plugin::ok();
}

}  // namespace sluice::cpu
