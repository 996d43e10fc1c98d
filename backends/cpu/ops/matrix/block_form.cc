#include "ops/matrix/block_form.h"

#include <algorithm>

#include "core/isa.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::invalid_argument;
using plugin::unimplemented;

constexpr int kZerosInput = 3;

bool is_nibble(sluice_element_type type) { return type == plugin::kU4 || type == plugin::kI4; }
bool has_sign(sluice_element_type type) { return type == plugin::kI4 || type == plugin::kI8; }

BlockForm::Zeros zeros_of(const sluice_op& op) {
  if (op.num_inputs <= kZerosInput || plugin::is_absent(op.inputs[kZerosInput].tensor)) {
    return BlockForm::Zeros::kNone;
  }
  const sluice_tensor& zeros = op.inputs[kZerosInput].tensor;
  if (zeros.rank == 1) return BlockForm::Zeros::kOne;
  return zeros.element_type == plugin::kF32 ? BlockForm::Zeros::kFloats : BlockForm::Zeros::kEach;
}

Status check_zeros(const sluice_op& op) {
  const sluice_element_type type = op.inputs[1].tensor.element_type;
  const BlockForm::Zeros zeros = zeros_of(op);
  if (zeros == BlockForm::Zeros::kNone || zeros == BlockForm::Zeros::kFloats) return plugin::ok();
  if (has_sign(type) || op.inputs[kZerosInput].tensor.element_type != type) {
    return unimplemented("NarrowMatMul: zero points are neither f32 nor, like B, without sign");
  }
  const bool is_one = zeros == BlockForm::Zeros::kOne;
  if (is_one && plugin::num_elements(op.inputs[kZerosInput].tensor) != 1) {
    return invalid_argument("NarrowMatMul: zero points are neither [N, blocks] nor one");
  }
  return plugin::ok();
}

}  // namespace

Status check_blocks(const sluice_op& op, bool is_flipped) {
  const std::int64_t size = plugin::Attributes(op).get_int("block_size");
  const auto b = dims_of(op.inputs[1].tensor);
  if (!is_flipped || size < 16 || (size & (size - 1)) != 0 || b.back() % size != 0) {
    return unimplemented("NarrowMatMul: blocks are not powers of two from 16 on along B's rows");
  }
  if (op.num_inputs < 3 || op.inputs[2].tensor.element_type != plugin::kF32) {
    return unimplemented("NarrowMatMul: scales are not f32");
  }
  if (Status status = check_zeros(op); !status.is_ok()) return status;
  for (int i = 2; i < op.num_inputs && i <= kZerosInput; ++i) {
    const sluice_tensor& blocks = op.inputs[i].tensor;
    if (plugin::is_absent(blocks)) continue;
    if (i == kZerosInput && zeros_of(op) == BlockForm::Zeros::kOne) continue;
    const auto dims = dims_of(blocks);
    const std::size_t outer = b.size() - 1;
    if (dims.size() != b.size() || !std::ranges::equal(dims.first(outer), b.first(outer)) ||
        dims.back() != b.back() / size) {
      return invalid_argument("NarrowMatMul: scales and zeros are not [N, K / block_size]");
    }
  }
  return plugin::ok();
}

BlockForm read_block_form(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  const sluice_tensor& b = op.inputs[1].tensor;
  BlockForm form;
  form.matrix.bits = is_nibble(b.element_type) ? 4 : 8;
  form.matrix.has_sign = has_sign(b.element_type);
  form.matrix.k = b.dims[b.rank - 1];
  form.matrix.block = attributes.get_int("block_size");
  form.zeros = zeros_of(op);
  form.rounds_rows = attributes.get_text("sluice_weights", "") == "int8";
  return form;
}

BlockMatrix BlockForm::at(const Run& run, std::int64_t first) const {
  BlockMatrix b = matrix;
  b.numbers = run.input<std::uint8_t>(1);
  b.scales = run.input<float>(2);
  switch (zeros) {
    case Zeros::kNone: break;
    case Zeros::kOne:
      // A zero point of 4 bits lies in the low half of its byte.
      b.zero = *run.input<std::uint8_t>(kZerosInput) & (b.bits == 4 ? 15 : 255);
      break;
    case Zeros::kEach: b.zeros = run.input<std::uint8_t>(kZerosInput); break;
    case Zeros::kFloats: b.float_zeros = run.input<float>(kZerosInput); break;
  }
  const std::int64_t blocks = first * (b.k / b.block);
  b.numbers += first * b.k * b.bits / 8;
  b.scales += blocks;
  if (b.zeros != nullptr) b.zeros += blocks * b.bits / 8;
  if (b.float_zeros != nullptr) b.float_zeros += blocks;
  return b;
}

void BlockForm::tell(Extents& extents, std::int64_t n) const {
  const std::int64_t blocks = matrix.k / matrix.block;
  // Numbers of 4 bits lie in pairs; a row of B has an even count.
  const auto bytes_of = [&](std::int64_t count) {
    return matrix.bits == 4 ? (count + 1) / 2 : count;
  };
  extents.reads(1, {n, bytes_of(matrix.k)});
  extents.reads(2, {n, blocks, sizeof(float)});
  switch (zeros) {
    case Zeros::kNone: break;
    case Zeros::kOne: extents.reads(kZerosInput, {1}); break;
    case Zeros::kEach: extents.reads(kZerosInput, {bytes_of(n * blocks)}); break;
    case Zeros::kFloats: extents.reads(kZerosInput, {n, blocks, sizeof(float)}); break;
  }
}

const BlockKernels& block_kernels(const BlockMatrix& b, bool rounds_rows, Isa isa) {
  // Two vectors of 16 lanes would span two blocks.
  if (isa == Isa::kAvx512 && b.block < 32 && !rounds_rows) isa = Isa::kAvx2;
  if (!rounds_rows) return *SLUICE_CPU_PICK(isa, kBlocksInFloats);
#if defined(__x86_64__)
  if (isa == Isa::kAvx512 && has_vnni()) return avx512vnni::kBlocksInBytes;
#endif
  return *SLUICE_CPU_PICK(isa, kBlocksInBytes);
}

}  // namespace sluice::cpu
