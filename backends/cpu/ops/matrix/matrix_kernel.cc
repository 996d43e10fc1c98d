#include "ops/matrix/matrix_kernel.h"

#include <algorithm>
#include <utility>

#include "ops/operands/broadcast.h"

namespace sluice::cpu {
namespace {

/// Strides of a chain operand over rows, columns and batch of `plan`; false if one stride cannot
/// describe its rows.
bool place_operand(const sluice_tensor& operand, std::span<const std::int64_t> out, int merged_dims,
                   BodyOperand* strides, GemmBatch* batch) {
  const Dims all = broadcast_strides(plugin::dims_of(operand), out);
  const std::size_t rank = out.size();
  const std::size_t batch_dims = rank - 2 - static_cast<std::size_t>(merged_dims);
  const auto rows = out.subspan(batch_dims, rank - 1 - batch_dims);
  strides->col = all[rank - 1];
  strides->row = merged_stride(rows, std::span(all).subspan(batch_dims, rows.size()));
  for (std::size_t i = 0; i < batch_dims; ++i) {
    batch->stride[kGemmBatchRank - batch_dims + i] = all[i];
  }
  return strides->row >= 0;
}

/// Bytes of the floats that one operand's part of a plan reaches: over the batch, rows, columns.
std::int64_t reach_bytes(const GemmPlan& plan, const GemmBatch& batch, std::int64_t rows,
                         std::int64_t row, std::int64_t columns, std::int64_t column) {
  const auto& n = plan.batch_dims;
  const auto& s = batch.stride;
  const std::int64_t dims[] = {n[0], n[1], n[2], n[3], rows, columns};
  const std::int64_t strides[] = {s[0], s[1], s[2], s[3], row, column};
  std::int64_t bytes = 0;
  const bool is_far = __builtin_mul_overflow(reach_of(dims, strides).end,
                                             static_cast<std::int64_t>(sizeof(float)), &bytes);
  return is_far ? -1 : bytes;
}

}  // namespace

MatrixKernel::MatrixKernel(const sluice_op& op, MatrixProduct product, Isa isa)
    : Kernel(op), product_(std::move(product)), isa_(isa) {
  if (product_.constant_b) packed_b_.emplace(op.inputs[1], *product_.constant_b, isa);
  if (product_.constant_b && product_.constant_b->type == WeightType::kInt8) {
    bytes_.emplace(product_.plan, isa);
    const BytePanels& panels = bytes_->panels();
    narrow_ = find_narrow_panels(panels, packed_b_->data<void>(), panels.count(), isa);
  }
  if (product_.chain.body.empty() || takes_scale()) return;
  if (!place_epilogue()) {
    second_pass_.emplace(product_.chain, op.outputs[0].tensor, isa);
  }
}

/// A product with one number is the tiles' own: as an epilogue it would read and write C again.
bool MatrixKernel::takes_scale() {
  const Body& body = product_.chain.body;
  if (body.step_count != 1 || product_.constant_b || product_.blocks) return false;
  const BodyStep& step = body.steps[0];
  // Register 0 is the product.
  if (step.op == BodyOp::kScale && step.a == 0) {
    product_.plan.scale = step.alpha;
  } else if (step.op == BodyOp::kMul && (step.a == 0) != (step.b == 0) &&
             step.a + step.b >= kBodyFirstConstant) {
    product_.plan.scale = body.constants[step.a + step.b - kBodyFirstConstant];
  } else {
    return false;
  }
  product_.chain = {};
  return true;
}

bool MatrixKernel::place_epilogue() {
  GemmPlan& plan = product_.plan;
  for (std::size_t i = 1; i < product_.chain.sources.size(); ++i) {
    if (!place_operand(*product_.chain.sources[i].tensor, plugin::dims_of(op().outputs[0].tensor),
                       product_.merged_dims, &plan.extra_strides[i], &plan.extra_batch[i])) {
      return false;
    }
  }
  plan.epilogue = product_.chain.body;
  return true;
}

/// Constant factors in panels have been checked where they were packed.
void MatrixKernel::tell_b(Extents& extents) const {
  const GemmPlan& plan = product_.plan;
  if (product_.blocks) {
    product_.blocks->tell(extents, plan.n);
  } else if (!packed_b_ && plan.b_form == GemmB::kColumns) {
    extents.reads(product_.b_input,
                  {reach_bytes(plan, plan.b_batch, plan.n, plan.b_row, plan.k, 1)});
  } else if (!packed_b_) {
    extents.reads(product_.b_input,
                  {reach_bytes(plan, plan.b_batch, plan.k, plan.b_row, plan.n, 1)});
  }
}

void MatrixKernel::extents(Extents& extents) const {
  const GemmPlan& plan = product_.plan;
  extents.reads(product_.a_input,
                {reach_bytes(plan, plan.a_batch, plan.m, plan.a_row, plan.k, plan.a_step)});
  tell_b(extents);
  if (product_.bias_input >= 0) extents.reads(product_.bias_input, {plan.n, sizeof(float)});
  for (std::size_t i = 1; i < product_.chain.sources.size() && !second_pass_; ++i) {
    const ChainSource& source = product_.chain.sources[i];
    if (source.from != ChainSource::From::kRunInput) continue;
    const BodyOperand& strides = plan.extra_strides[i];
    extents.reads(source.run_input, {reach_bytes(plan, plan.extra_batch[i], plan.m, strides.row,
                                                 plan.n, strides.col)});
  }
  if (second_pass_) second_pass_->extents(extents);
  extents.writes(0, {plan.batch_count(), plan.m, plan.n, sizeof(float)});
}

/// Phases: rows of A are rounded (of an 8-bit product alone), the product, and a second pass for a
/// chain that cannot run on tiles.
void MatrixKernel::run(const Run& run, int phase, const Worker& worker) const {
  if (phase == product_phases()) {
    second_pass_->run(run, run.output<float>(0), worker);
    return;
  }
  GemmArgs args;
  args.a = run.input<float>(product_.a_input);
  if (bytes_ && phase == 0) return bytes_->round(args, run.shared(), worker);
  if (product_.blocks) {
    args.blocks = product_.blocks->at(run);
    args.block_kernels = &block_kernels(args.blocks, product_.plan.rounds_rows, isa_);
  } else if (!packed_b_) {
    args.b = run.input<float>(product_.b_input);
  } else if (is_half(product_.plan.b_form)) {
    args.half_b = packed_b_->data<std::uint16_t>();
  } else if (!bytes_) {
    args.b = packed_b_->data<float>();
  }
  args.c = run.output<float>(0);
  if (product_.bias_input >= 0) args.bias = run.input<float>(product_.bias_input);
  for (int i = 1; i < product_.plan.epilogue.input_count; ++i) {
    args.extra[i] = source_address(product_.chain.sources[static_cast<std::size_t>(i)], run);
  }
  if (bytes_) {
    return bytes_->multiply(args, packed_b_->data<void>(), narrow_.data(), run.shared(), worker);
  }
  if (const StrassenCut* cut = strassen()) {
    SLUICE_CPU_PICK(isa_, run_strassen)(*cut, product_.plan, args, worker);
  } else {
    SLUICE_CPU_PICK(isa_, run_gemm)(product_.plan, args, worker);
  }
}

std::int64_t MatrixKernel::product_scratch_bytes() const {
  if (bytes_) return product_.plan.epilogue.scratch_bytes();
  const StrassenCut* cut = strassen();
  return cut != nullptr ? SLUICE_CPU_PICK(isa_, strassen_scratch_bytes)(*cut, product_.plan)
                        : SLUICE_CPU_PICK(isa_, gemm_scratch_bytes)(product_.plan);
}

std::int64_t MatrixKernel::scratch_bytes() const {
  return std::max(product_scratch_bytes(), second_pass_ ? second_pass_->scratch_bytes() : 0);
}

/// The larger of the time to compute and the time to read B. Per nanosecond: 80 products of floats,
/// 240 of bytes, or 40 bytes of B.
double MatrixKernel::cost_ns() const {
  const GemmPlan& plan = product_.plan;
  const auto count = static_cast<double>(plan.batch_count());
  const double products = static_cast<double>(plan.m) * static_cast<double>(plan.n) *
                          static_cast<double>(plan.k) * count;
  const double size = product_.blocks        ? product_.blocks->matrix.bits / 8.0 + 0.1
                      : bytes_               ? 1
                      : is_half(plan.b_form) ? 2
                                             : 4;
  const double weights = static_cast<double>(plan.n) * static_cast<double>(plan.k) * size;
  return std::max(products / (bytes_ || plan.rounds_rows ? 240 : 80), weights / 40);
}

}  // namespace sluice::cpu
