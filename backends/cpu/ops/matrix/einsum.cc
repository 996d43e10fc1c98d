// Einsum of two operands, as one strided product.
//
// Letters of both operands and the output are batch axes; those that the output lacks are the
// depth; the rest are rows of one operand and columns of the other, of which the operand that has
// the output's last letter gives the columns. Axes that no single stride describes join the batch.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "ops/matrix/matrix_kernel.h"
#include "ops/matrix/matrix_tactics.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

struct Terms {
  std::string a, b, output;
};

bool is_distinct(std::string letters) {
  std::ranges::sort(letters);
  return std::ranges::adjacent_find(letters) == letters.end();
}

/// Two terms and their output, without an ellipsis or a letter that stands twice in one.
std::optional<Terms> parse_equation(const sluice_op& op) {
  std::string text(plugin::Attributes(op).get_text("equation", ""));
  std::erase(text, ' ');
  const std::size_t comma = text.find(',');
  const std::size_t arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow) return {};
  if (text.find('.') != std::string::npos || text.find(',', comma + 1) != std::string::npos) {
    return {};
  }
  Terms terms = {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1),
                 text.substr(arrow + 2)};
  const bool fits = is_distinct(terms.a) && is_distinct(terms.b) && is_distinct(terms.output);
  return fits ? std::optional(terms) : std::nullopt;
}

/// One operand's axes by their letters.
class Axes {
 public:
  Axes(const sluice_tensor& tensor, std::string letters)
      : letters_(std::move(letters)),
        dims_(dims_of(tensor).begin(), dims_of(tensor).end()),
        strides_(broadcast_strides(dims_, dims_)) {}

  bool has(char letter) const { return letters_.find(letter) != std::string::npos; }
  std::int64_t size(char letter) const { return has(letter) ? dims_[letters_.find(letter)] : 1; }
  /// 0 where the letter is missing, or its axis is stretched.
  std::int64_t stride(char letter) const {
    return has(letter) ? strides_[letters_.find(letter)] : 0;
  }

 private:
  std::string letters_;
  Dims dims_;
  Dims strides_;
};

/// Where the strides of an operand stand in the walks.
enum StridesOf : std::uint8_t { kOfA, kOfB, kOfC };

class Planner {
 public:
  Planner(const sluice_op& op, const Terms& terms)
      : terms_(terms),
        axes_{Axes(op.inputs[0].tensor, terms.a), Axes(op.inputs[1].tensor, terms.b),
              Axes(op.outputs[0].tensor, terms.output)} {
    // The operand of the output's last letter that is longer than 1 gives the columns.
    for (const char letter : terms.output) {
      if (axes_[kOfC].size(letter) != 1) is_swapped_ = !axes_[kOfB].has(letter);
    }
  }

  bool is_swapped() const { return is_swapped_; }

  Status plan(GemmPlan* plan) const {
    std::string batch, rows, columns, depth;
    for (const char letter : terms_.output) {
      const bool in_a = left().has(letter);
      const bool in_b = right().has(letter);
      if (!in_a && !in_b) return unimplemented("a letter of no operand");
      (in_a && in_b ? batch : in_a ? rows : columns) += letter;
    }
    for (const char letter : terms_.a + terms_.b) {
      if (axes_[kOfC].has(letter) || depth.find(letter) != std::string::npos) continue;
      if (!left().has(letter) || !right().has(letter) ||
          left().size(letter) != right().size(letter)) {
        return unimplemented("a sum over one operand");
      }
      depth += letter;
    }
    const Walk inner = walk_of(depth);
    const Walk down = walk_of(rows);
    const Walk across = walk_of(columns);
    if (inner.dims.size() != 1) return unimplemented("a sum over axes apart");
    *plan = GemmPlan::of(down.dims.back(), across.dims.back(), inner.dims[0]);
    plan->a_row = down.strides[kOfA].back();
    plan->a_step = inner.strides[kOfA][0];
    plan->c_row = down.strides[kOfC].back();
    if (across.dims.back() > 1 && across.strides[kOfC].back() != 1) {
      return unimplemented("a result across its rows");
    }
    if (!place_b(inner.strides[kOfB][0], across.strides[kOfB].back(), plan)) {
      return unimplemented("a factor whose numbers lie apart");
    }
    return place_batch({walk_of(batch), without_last(down), without_last(across)}, plan);
  }

 private:
  const Axes& left() const { return axes_[is_swapped_ ? kOfB : kOfA]; }
  const Axes& right() const { return axes_[is_swapped_ ? kOfA : kOfB]; }

  /// With the strides of A, B and C as the product names them.
  Walk walk_of(const std::string& letters) const {
    Dims dims;
    std::vector<Dims> strides(3);
    for (const char letter : letters) {
      dims.push_back(std::max(left().size(letter), right().size(letter)));
      strides[kOfA].push_back(left().stride(letter));
      strides[kOfB].push_back(right().stride(letter));
      strides[kOfC].push_back(axes_[kOfC].stride(letter));
    }
    return collapse(dims, std::move(strides));
  }

  static Walk without_last(Walk walk) {
    walk.dims.pop_back();
    for (Dims& strides : walk.strides) strides.pop_back();
    return walk;
  }

  static bool place_b(std::int64_t step, std::int64_t column, GemmPlan* plan) {
    if (plan->n == 1 || column == 1) {
      plan->b_form = GemmB::kRows;
      plan->b_row = step;
    } else {
      plan->b_form = GemmB::kColumns;
      plan->b_row = column;
    }
    return plan->b_form == GemmB::kRows || plan->k == 1 || step == 1;
  }

  static Status place_batch(const std::vector<Walk>& walks, GemmPlan* plan) {
    int at = kGemmBatchRank;
    for (const Walk& walk : walks) {
      for (std::size_t d = 0; d < walk.dims.size(); ++d) {
        if (walk.dims[d] == 1) continue;
        if (at-- == 0) return unimplemented("a batch of too many axes");
        plan->batch_dims[at] = walk.dims[d];
        plan->a_batch.stride[at] = walk.strides[kOfA][d];
        plan->b_batch.stride[at] = walk.strides[kOfB][d];
        plan->c_batch.stride[at] = walk.strides[kOfC][d];
      }
    }
    return plugin::ok();
  }

  const Terms& terms_;
  Axes axes_[3];
  bool is_swapped_ = false;
};

Status check_einsum(const sluice_op& op) {
  const auto terms = parse_equation(op);
  if (op.num_inputs != 2 || !terms) return unimplemented("an equation of another form");
  const bool fits = op.inputs[0].tensor.rank == std::ssize(terms->a) &&
                    op.inputs[1].tensor.rank == std::ssize(terms->b) &&
                    op.outputs[0].tensor.rank == std::ssize(terms->output);
  return fits ? check_plain_f32(op) : unimplemented("terms of other ranks");
}

Status make_einsum(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  for (const sluice_tensor* tensor : {&op.inputs[0].tensor, &op.inputs[1].tensor}) {
    if (plugin::num_elements(*tensor) == 0) return unimplemented("an empty axis");
  }
  const Terms terms = *parse_equation(op);
  const Planner planner(op, terms);
  MatrixProduct product;
  if (Status status = planner.plan(&product.plan); !status.is_ok()) return status;
  product.plan.blocks = gemm_blocks(op, isa);
  product.a_input = planner.is_swapped() ? 1 : 0;
  product.b_input = planner.is_swapped() ? 0 : 1;
  *kernel = std::make_unique<MatrixKernel>(op, std::move(product), isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> einsum_entries() {
  return {{.kind = "Einsum", .check = check_einsum, .make = make_einsum, .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
