#include <algorithm>
#include <optional>
#include <string>

#include "passes/lower/operator_rewrites.h"

namespace sluice::passes {
namespace {

using ir::OperandId;
using Ints = std::vector<std::int64_t>;

struct EinsumTerms {
  std::vector<std::string> inputs;
  std::string output;
};

bool has_letter(const std::string& letters, char c) { return letters.find(c) != std::string::npos; }

/// Terms of one or two operands with an output, of letters that no operand has twice; else nothing.
std::optional<EinsumTerms> parse_terms(std::string text) {
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  if (arrow == std::string::npos || text.find('.') != std::string::npos) return std::nullopt;
  EinsumTerms terms = {{}, text.substr(arrow + 2)};
  std::string left = text.substr(0, arrow);
  for (std::size_t comma = left.find(','); comma != std::string::npos; comma = left.find(',')) {
    terms.inputs.push_back(left.substr(0, comma));
    left = left.substr(comma + 1);
  }
  terms.inputs.push_back(left);
  std::vector<std::string> all = terms.inputs;
  all.push_back(terms.output);
  for (std::string term : all) {
    std::ranges::sort(term);
    if (std::ranges::adjacent_find(term) != term.end()) return std::nullopt;
  }
  return terms.inputs.size() <= 2 ? std::optional(terms) : std::nullopt;
}

/// An operand and a letter for each of its axes.
struct Lettered {
  OperandId x;
  std::string letters;
};

/// The sum over the axes whose letters `kept` does not name.
Result<Lettered> summed(ops::Lowering& op, const Lettered& term, const std::string& kept) {
  Lettered result = {term.x, ""};
  Ints axes;
  for (std::size_t i = 0; i < term.letters.size(); ++i) {
    if (has_letter(kept, term.letters[i])) {
      result.letters += term.letters[i];
    } else {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (axes.empty()) return result;
  result.x =
      SLUICE_TRY(op.emit("ReduceSum", {term.x, op.ints(axes)}, {{"keepdims", std::int64_t{0}}}));
  return result;
}

/// The operand with its axes in the order of `letters`, which are its own.
Result<OperandId> ordered(ops::Lowering& op, const Lettered& term, const std::string& letters) {
  if (term.letters == letters) return term.x;
  Ints perm;
  for (const char c : letters) {
    perm.push_back(static_cast<std::int64_t>(term.letters.find(c)));
  }
  return op.emit("Transpose", {term.x}, {{"perm", perm}});
}

/// The letters of an einsum of two operands by what they do.
struct EinsumRoles {
  std::string batch;   ///< in both and in the output
  std::string summed;  ///< in both alone
  std::string left, right;
};

EinsumRoles roles_of(const Lettered& a, const Lettered& b, const std::string& output) {
  EinsumRoles roles;
  for (const char c : a.letters) {
    if (!has_letter(b.letters, c)) {
      roles.left += c;
    } else {
      (has_letter(output, c) ? roles.batch : roles.summed) += c;
    }
  }
  for (const char c : b.letters) {
    if (!has_letter(a.letters, c)) roles.right += c;
  }
  // The order of the output saves the transpose behind the product.
  const auto by_output = [&](char x, char y) { return output.find(x) < output.find(y); };
  for (std::string* letters : {&roles.batch, &roles.left, &roles.right}) {
    std::ranges::sort(*letters, by_output);
  }
  return roles;
}

class EinsumProduct {
 public:
  EinsumProduct(ops::Lowering& op, const EinsumTerms& terms) : op_(op), terms_(terms) {}

  Status run() {
    const std::string& output = terms_.output;
    const Lettered a =
        SLUICE_TRY(summed(op_, {op_.input(0), terms_.inputs[0]}, terms_.inputs[1] + output));
    const Lettered b =
        SLUICE_TRY(summed(op_, {op_.input(1), terms_.inputs[1]}, terms_.inputs[0] + output));
    const EinsumRoles roles = roles_of(a, b, output);
    const OperandId left = SLUICE_TRY(matrix(a, roles, roles.left, roles.summed));
    const OperandId right = SLUICE_TRY(matrix(b, roles, roles.summed, roles.right));
    OperandId y = SLUICE_TRY(op_.emit("MatMul", {left, right}));
    y = SLUICE_TRY(unfolded(y, roles));
    const Lettered product = {y, roles.batch + roles.left + roles.right};
    return op_.finish("Identity", {SLUICE_TRY(ordered(op_, product, output))});
  }

 private:
  /// [batch..., rows, columns]; several letters of a side, or none, become one axis.
  Result<OperandId> matrix(const Lettered& term, const EinsumRoles& roles, const std::string& rows,
                           const std::string& columns) {
    const OperandId x = SLUICE_TRY(ordered(op_, term, roles.batch + rows + columns));
    if (rows.size() == 1 && columns.size() == 1) return x;
    Ints shape = SLUICE_TRY(dims_of(roles.batch));
    shape.push_back(SLUICE_TRY(product_of(rows)));
    shape.push_back(SLUICE_TRY(product_of(columns)));
    return op_.emit("Reshape", {x, op_.ints(shape)});
  }

  Result<OperandId> unfolded(OperandId y, const EinsumRoles& roles) {
    if (roles.left.size() == 1 && roles.right.size() == 1) return y;
    return op_.emit("Reshape",
                    {y, op_.ints(SLUICE_TRY(dims_of(roles.batch + roles.left + roles.right)))});
  }

  Result<Ints> dims_of(const std::string& letters) const {
    Ints dims;
    for (const char c : letters) {
      const std::size_t i = has_letter(terms_.inputs[0], c) ? 0 : 1;
      dims.push_back(SLUICE_TRY(op_.dim(i, terms_.inputs[i].find(c))));
      if (dims.back() == 0) return unimplemented("an empty axis");
    }
    return dims;
  }

  Result<std::int64_t> product_of(const std::string& letters) const {
    std::int64_t product = 1;
    for (const std::int64_t dim : SLUICE_TRY(dims_of(letters))) product *= dim;
    return product;
  }

  ops::Lowering& op_;
  const EinsumTerms& terms_;
};

}  // namespace

Status rewrite_einsum(ops::Lowering& op) {
  const auto terms = parse_terms(op.operation().attributes.get_or<std::string>("equation", ""));
  if (!terms || terms->inputs.size() != op.operation().inputs.size()) {
    return unimplemented("an equation of another form");
  }
  for (std::size_t i = 0; i < terms->inputs.size(); ++i) {
    const auto shape = SLUICE_TRY(op.shape(i));
    if (op.element(i) != ir::ElementType::kF32 || shape.size() != terms->inputs[i].size()) {
      return unimplemented("another type or rank");
    }
  }
  if (terms->inputs.size() == 2) {
    // An axis of 1 against a longer one would be broadcast.
    for (std::size_t i = 0; i < terms->inputs[0].size(); ++i) {
      const std::size_t other = terms->inputs[1].find(terms->inputs[0][i]);
      if (other == std::string::npos) continue;
      if (SLUICE_TRY(op.shape(0))[i] != SLUICE_TRY(op.shape(1))[other]) {
        return unimplemented("axes of unlike length");
      }
    }
    return EinsumProduct(op, *terms).run();
  }
  const Lettered sum = SLUICE_TRY(summed(op, {op.input(0), terms->inputs[0]}, terms->output));
  return op.finish("Identity", {SLUICE_TRY(ordered(op, sum, terms->output))});
}

}  // namespace sluice::passes
