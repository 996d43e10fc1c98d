#include <string>

#include "passes/lower/operator_rewrites.h"

namespace sluice::passes {
namespace {

using ir::OperandId;
using Ints = std::vector<std::int64_t>;

Result<Ints> static_dims(const ops::Lowering& op, std::size_t index) {
  Ints dims;
  for (std::size_t axis = 0; axis < SLUICE_TRY(op.rank(index)); ++axis) {
    dims.push_back(SLUICE_TRY(op.dim(index, axis)));
  }
  return dims;
}

/// Reshape[Transpose[Reshape[x]]].
Status finish_transposed(ops::Lowering& op, const Ints& split, const Ints& perm,
                         const Ints& joined) {
  const OperandId parts = SLUICE_TRY(op.emit("Reshape", {op.input(0), op.ints(split)}));
  const OperandId moved = SLUICE_TRY(op.emit("Transpose", {parts}, {{"perm", perm}}));
  return op.finish("Reshape", {moved, op.ints(joined)});
}

Result<Ints> image_dims(const ops::Lowering& op, std::int64_t block) {
  Ints dims = SLUICE_TRY(static_dims(op, 0));
  if (dims.size() != 4 || block < 1) return unimplemented("no image or no block");
  // A Reshape would take 0 for "as in the input".
  for (const std::int64_t dim : dims) {
    if (dim == 0) return unimplemented("an empty image");
  }
  return dims;
}

}  // namespace

Status rewrite_depth_to_space(ops::Lowering& op) {
  const std::int64_t b = op.int_of("blocksize");
  const Ints d = SLUICE_TRY(image_dims(op, b));
  const std::int64_t channels = d[1] / (b * b);
  // DCR: [n, b, b, c, h, w] -> [n, c, h, b, w, b]   depth runs over the blocks first
  // CRD: [n, c, b, b, h, w] -> [n, c, h, b, w, b]   depth runs over the channels first
  const Ints joined = {d[0], channels, d[2] * b, d[3] * b};
  const bool is_by_columns = op.operation().attributes.get_or<std::string>("mode", "DCR") == "CRD";
  if (is_by_columns) {
    return finish_transposed(op, {d[0], channels, b, b, d[2], d[3]}, {0, 1, 4, 2, 5, 3}, joined);
  }
  return finish_transposed(op, {d[0], b, b, channels, d[2], d[3]}, {0, 3, 4, 1, 5, 2}, joined);
}

Status rewrite_space_to_depth(ops::Lowering& op) {
  const std::int64_t b = op.int_of("blocksize");
  const Ints d = SLUICE_TRY(image_dims(op, b));
  const bool is_by_columns = op.operation().attributes.get_or<std::string>("mode", "DCR") == "CRD";
  // [n, c, h/b, b, w/b, b], then DCR: -> [n, b, b, c, h/b, w/b]
  //                              CRD: -> [n, c, b, b, h/b, w/b]
  const Ints perm = is_by_columns ? Ints{0, 1, 3, 5, 2, 4} : Ints{0, 3, 5, 1, 2, 4};
  return finish_transposed(op, {d[0], d[1], d[2] / b, b, d[3] / b, b}, perm,
                           {d[0], d[1] * b * b, d[2] / b, d[3] / b});
}

Status rewrite_tile(ops::Lowering& op) {
  const Ints dims = SLUICE_TRY(static_dims(op, 0));
  const ir::Constant* constant = op.find_constant(1);
  const auto repeats = constant ? ir::integer_values(*constant) : std::nullopt;
  if (!repeats || repeats->size() != dims.size()) return unimplemented("repeats at run time");
  // [2, 3] tiled by (4, 1):  Reshape to [1, 2, 3], Expand to [4, 2, 3], Reshape to [8, 3]
  Ints single, repeated, joined;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t count = (*repeats)[i];
    if (count < 1 || dims[i] < 1) return unimplemented("an empty result");
    if (count > 1) {
      single.push_back(1);
      repeated.push_back(count);
    }
    single.push_back(dims[i]);
    repeated.push_back(dims[i]);
    joined.push_back(count * dims[i]);
  }
  const OperandId parts = SLUICE_TRY(op.emit("Reshape", {op.input(0), op.ints(single)}));
  const OperandId whole = SLUICE_TRY(op.emit("Expand", {parts, op.ints(repeated)}));
  return op.finish("Reshape", {whole, op.ints(joined)});
}

}  // namespace sluice::passes
