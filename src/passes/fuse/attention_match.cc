#include "passes/fuse/attention_match.h"

#include <algorithm>

namespace sluice::passes {
namespace {

const ir::Shape* shape_of(const ir::Subgraph& subgraph, ir::OperandId id) {
  const ir::Type& type = subgraph.operand(id).type;
  return type.is_tensor() ? type.shape() : nullptr;
}

bool has_rank_4(const ir::Subgraph& subgraph, ir::OperandId id) {
  const ir::Shape* shape = shape_of(subgraph, id);
  return shape != nullptr && shape->size() == 4;
}

/// The operand before multiplications by and divisions through numbers, which go into `scale`.
ir::OperandId without_scale(const Matcher& matcher, ir::OperandId id, double& scale) {
  while (true) {
    const ir::Operation* product = matcher.find(id, "Mul");
    const ir::Operation* quotient = product ? nullptr : matcher.find(id, "Div");
    const ir::Operation* operation = product ? product : quotient;
    const auto parts = operation ? matcher.with_number(*operation) : std::nullopt;
    if (!parts || parts->second == 0 || !has_rank_4(matcher.subgraph(), parts->first)) return id;
    scale = product ? scale * parts->second : scale / parts->second;
    id = parts->first;
  }
}

/// Reads the scores q * k^T off their product.
bool match_product(const Matcher& matcher, ir::OperandId scores, AttentionParts& found) {
  const ir::Operation* product = matcher.find(scores, "MatMul");
  if (product == nullptr) return false;
  found.q = without_scale(matcher, product->inputs[0], found.scale);
  const ir::OperandId key = without_scale(matcher, product->inputs[1], found.scale);
  const ir::Operation* transpose = matcher.find(key, "Transpose");
  if (transpose == nullptr) return false;
  const auto* perm = transpose->attributes.find<std::vector<std::int64_t>>("perm");
  if (perm == nullptr || perm->size() != 4) return false;
  found.key_perm = {(*perm)[0], (*perm)[1], (*perm)[3], (*perm)[2]};
  found.key_source = transpose->inputs[0];
  if (is_ascending(found.key_perm)) {
    found.key_source = without_scale(matcher, found.key_source, found.scale);
  }
  return true;
}

/// Reads the softmax's argument: scaled scores, a mask added or chosen.
bool match_scores(const Matcher& matcher, ir::OperandId id, AttentionParts& found) {
  if (const ir::Operation* choice = matcher.find(id, "Where")) {
    const ir::Constant* hidden = matcher.subgraph().find_constant(choice->inputs[2]);
    if (!scalar_value(matcher.subgraph(), choice->inputs[2]) ||
        hidden->type.element() != ir::ElementType::kF32) {
      return false;
    }
    found.condition = choice->inputs[0];
    found.hidden = choice->inputs[2];
    return match_product(matcher, without_scale(matcher, choice->inputs[1], found.scale), found);
  }
  const ir::Operation* sum = matcher.find(id, "Add");
  if (sum == nullptr) {
    return match_product(matcher, without_scale(matcher, id, found.scale), found);
  }
  for (const std::size_t i : {0, 1}) {
    AttentionParts candidate;
    candidate.mask = sum->inputs[1 - i];
    const ir::OperandId scores = without_scale(matcher, sum->inputs[i], candidate.scale);
    if (!match_product(matcher, scores, candidate)) continue;
    found = candidate;
    return true;
  }
  return false;
}

bool is_over_last_axis(const ir::Operation& softmax) {
  constexpr int kFirstOfOneAxis = 13;  // older versions treat all axes from `axis` on as one
  const std::int64_t axis = softmax.attributes.get_or("axis", std::int64_t{-1});
  return softmax.version >= kFirstOfOneAxis && (axis == -1 || axis == 3);
}

}  // namespace

std::optional<AttentionParts> match_attention(const Matcher& matcher, const ir::Operation& root) {
  const ir::Operation* softmax = matcher.find(root.inputs[0], "Softmax");
  if (softmax == nullptr || !is_over_last_axis(*softmax)) return std::nullopt;
  AttentionParts found;
  if (!match_scores(matcher, softmax->inputs[0], found)) return std::nullopt;
  found.v = root.inputs[1];
  const ir::Shape* q = shape_of(matcher.subgraph(), found.q);
  const ir::Shape* k = shape_of(matcher.subgraph(), found.key_source);
  const ir::Shape* v = shape_of(matcher.subgraph(), found.v);
  if (!q || !k || !v || q->size() != 4 || k->size() != 4 || v->size() != 4) return std::nullopt;
  const auto key_dim = [&](std::size_t i) {
    return (*k)[static_cast<std::size_t>(found.key_perm[i])];
  };
  const bool same_heads =
      (*q)[0] == key_dim(0) && (*q)[1] == key_dim(1) && (*q)[0] == (*v)[0] && (*q)[1] == (*v)[1];
  const ir::Shape* result = shape_of(matcher.subgraph(), root.outputs[0]);
  const bool same_result =
      result != nullptr && *result == ir::Shape{(*q)[0], (*q)[1], (*q)[2], (*v)[3]};
  return same_heads && same_result ? std::optional(found) : std::nullopt;
}

bool is_ascending(const std::vector<std::int64_t>& perm) {
  return std::is_sorted(perm.begin(), perm.end());
}

}  // namespace sluice::passes
