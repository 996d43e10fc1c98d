// The same elements in another order: Transpose, DepthToSpace, ReverseSequence; and triangles.
#include <algorithm>
#include <array>

#include "reference/families.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using plugin::dims_of;

/// Axis i of the output is axis `permutation[i]` of a packed tensor of `dims`.
void permute(const Mover& mover, Dims dims, std::span<const std::size_t> permutation) {
  const Ints strides = strides_of(dims);
  Ints target_dims;
  Ints target_strides;
  for (const std::size_t axis : permutation) {
    target_dims.push_back(dims[axis]);
    target_strides.push_back(strides[axis]);
  }
  for_each_index(target_dims, [&](std::int64_t i, Dims index) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < index.size(); ++d) from += index[d] * target_strides[d];
    mover.copy(from, i);
  });
}

/// The attribute `perm`, or all axes reversed.
Status permutation_of(const sluice_op& op, std::vector<std::size_t>* permutation) {
  const auto rank = static_cast<std::size_t>(op.inputs[0].tensor.rank);
  const plugin::Attributes attributes(op);
  for (std::size_t d = rank; d-- > 0;) permutation->push_back(d);
  if (attributes.find("perm", SLUICE_ATTRIBUTE_INTS) == nullptr) return plugin::ok();
  const auto perm = attributes.get_ints("perm");
  if (perm.size() != rank) return refuse(op, "perm has another length than the input's rank");
  for (std::size_t d = 0; d < rank; ++d) {
    Status status = normalize_axis(op, perm[d], rank, &(*permutation)[d]);
    if (!status.is_ok()) return status;
  }
  // Twice the same axis would leave another out.
  for (std::size_t d = 0; d < rank; ++d) {
    if (std::ranges::count(*permutation, d) != 1) return refuse(op, "perm is no permutation");
  }
  return plugin::ok();
}

Status check_transpose(const sluice_op& op) {
  std::vector<std::size_t> permutation;
  Status status = permutation_of(op, &permutation);
  return status.is_ok() ? check_movable(op, 0) : status;
}

Status run_transpose(const Call& call) {
  std::vector<std::size_t> permutation;
  Status status = permutation_of(call.op(), &permutation);
  const Dims dims = dims_of(call.input(0));
  Ints expected;
  for (const std::size_t axis : permutation) expected.push_back(dims[axis]);
  if (status.is_ok()) status = expect_dims(call, 0, expected);
  if (status.is_ok()) permute(Mover(call.input(0), call.output(0)), dims, permutation);
  return status;
}

bool is_depth_first(const sluice_op& op) {
  return plugin::Attributes(op).get_text("mode", "DCR") == "DCR";
}

Status check_blocks(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  const std::int64_t block = attributes.get_int("blocksize");
  if (block < 1 || block > (std::int64_t{1} << 30)) return refuse(op, "blocksize is out of range");
  if (op.inputs[0].tensor.rank != 4) return refuse(op, "the input must have 4 dimensions");
  if (!is_depth_first(op) && attributes.get_text("mode") != "CRD") {
    return refuse(op, "mode must be DCR or CRD");
  }
  return check_movable(op, 0);
}

/// [N, C, H, W] as [N, b, b, c, H, W] (DCR) or [N, c, b, b, H, W] (CRD), then the blocks between.
Status run_depth_to_space(const Call& call) {
  const Dims x = dims_of(call.input(0));
  const std::int64_t block = call.attributes().get_int("blocksize");
  const std::int64_t channels = x[1] / (block * block);
  if (channels * block * block != x[1]) return refuse(call.op(), "channels do not divide");
  const std::array<std::int64_t, 4> result = {x[0], channels, x[2] * block, x[3] * block};
  if (Status status = expect_dims(call, 0, result); !status.is_ok()) return status;
  const Mover mover(call.input(0), call.output(0));
  if (is_depth_first(call.op())) {
    permute(mover, Ints{x[0], block, block, channels, x[2], x[3]},
            std::array<std::size_t, 6>{0, 3, 4, 1, 5, 2});
  } else {
    permute(mover, Ints{x[0], channels, block, block, x[2], x[3]},
            std::array<std::size_t, 6>{0, 1, 4, 2, 5, 3});
  }
  return plugin::ok();
}

/// [N, C, H, W] as [N, C, h, b, w, b], then the blocks into the channels.
Status run_space_to_depth(const Call& call) {
  const Dims x = dims_of(call.input(0));
  const std::int64_t block = call.attributes().get_int("blocksize");
  const std::int64_t height = x[2] / block;
  const std::int64_t width = x[3] / block;
  if (height * block != x[2] || width * block != x[3]) {
    return refuse(call.op(), "height and width do not divide");
  }
  const std::array<std::int64_t, 4> result = {x[0], x[1] * block * block, height, width};
  if (Status status = expect_dims(call, 0, result); !status.is_ok()) return status;
  constexpr std::array<std::size_t, 6> kDepthFirst = {0, 3, 5, 1, 2, 4};
  constexpr std::array<std::size_t, 6> kColumnFirst = {0, 1, 3, 5, 2, 4};
  permute(Mover(call.input(0), call.output(0)), Ints{x[0], x[1], height, block, width, block},
          is_depth_first(call.op()) ? kDepthFirst : kColumnFirst);
  return plugin::ok();
}

Status check_reverse_sequence(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  const std::int64_t batch = attributes.get_int("batch_axis", 1);
  const std::int64_t time = attributes.get_int("time_axis", 0);
  if (batch + time != 1 || batch * time != 0) return refuse(op, "axes must be 0 and 1");
  if (op.inputs[0].tensor.rank < 2) return refuse(op, "the input must have 2 dimensions or more");
  Status status = check_type(op, 1, kIndices);
  return status.is_ok() ? check_movable(op, 0) : status;
}

Status run_reverse_sequence(const Call& call) {
  const Dims dims = dims_of(call.input(0));
  const auto batch = static_cast<std::size_t>(call.attributes().get_int("batch_axis", 1));
  const std::size_t time = 1 - batch;
  const Ints lengths = read_integers(call.input(1));
  if (Status status = expect_dims(call, 0, dims); !status.is_ok()) return status;
  if (static_cast<std::int64_t>(lengths.size()) != dims[batch]) {
    return refuse(call.op(), "sequence_lens do not fit the input");
  }
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > dims[time]) return length_outside(call.op(), length, dims[time]);
  }
  const Ints strides = strides_of(dims);
  const Mover mover(call.input(0), call.output(0));
  for_each_index(dims, [&](std::int64_t i, Dims index) {
    const std::int64_t length = lengths[static_cast<std::size_t>(index[batch])];
    const std::int64_t step = index[time];
    const std::int64_t source = step < length ? length - 1 - step : step;
    // Only the first `length` steps turn; the rest stays where it is.
    mover.copy(i + (source - step) * strides[time], i);
  });
  return plugin::ok();
}

Status check_trilu(const sluice_op& op) {
  if (op.inputs[0].tensor.rank < 2) return refuse(op, "the input must have 2 dimensions or more");
  Status status = check_type(op, 1, kIndices);
  return status.is_ok() ? check_movable(op, 0) : status;
}

Status run_trilu(const Call& call) {
  const Dims dims = dims_of(call.input(0));
  if (Status status = expect_dims(call, 0, dims); !status.is_ok()) return status;
  const Ints diagonal = read_integers(call.input(1));
  const std::int64_t rows = dims[dims.size() - 2];
  const std::int64_t columns = dims[dims.size() - 1];
  // Beyond the corners all diagonals are alike, and sums stay small.
  const std::int64_t k =
      diagonal.empty() ? 0 : std::clamp(diagonal.front(), -rows - 1, columns + 1);
  const bool is_upper = call.attributes().get_int("upper", 1) != 0;
  const Mover mover(call.input(0), call.output(0));
  for_each_index(dims, [&](std::int64_t i, Dims index) {
    const std::int64_t offset = index[dims.size() - 1] - index[dims.size() - 2];
    const bool is_kept = is_upper ? offset >= k : offset <= k;
    if (is_kept) {
      mover.copy(i, i);
    } else {
      mover.clear(i);
    }
  });
  return plugin::ok();
}

}  // namespace

std::vector<KernelEntry> rearrange_kernels() {
  return {
      {.kind = "DepthToSpace", .run = run_depth_to_space, .check = check_blocks},
      {.kind = "ReverseSequence",
       .run = run_reverse_sequence,
       .check = check_reverse_sequence,
       .num_required_inputs = 2},
      {.kind = "SpaceToDepth", .run = run_space_to_depth, .check = check_blocks},
      {.kind = "Transpose", .run = run_transpose, .check = check_transpose},
      {.kind = "Trilu", .run = run_trilu, .check = check_trilu},
  };
}

}  // namespace sluice::reference
