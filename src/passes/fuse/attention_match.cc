#include "passes/fuse/attention_match.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::passes {
namespace {

constexpr int kMaxMasks = 4;

const ir::Shape* shape_of(const ir::Subgraph& subgraph, ir::OperandId id) {
  const ir::Type& type = subgraph.operand(id).type;
  return type.is_tensor() ? type.shape() : nullptr;
}

bool has_rank(const ir::Subgraph& subgraph, ir::OperandId id, std::size_t rank) {
  const ir::Shape* shape = shape_of(subgraph, id);
  return shape != nullptr && shape->size() == rank;
}

bool has_rank_of_heads(const ir::Subgraph& subgraph, ir::OperandId id) {
  return has_rank(subgraph, id, 4) || has_rank(subgraph, id, 3);
}

/// The operand before multiplications by and divisions through numbers, which go into `scale`.
ir::OperandId without_scale(const Matcher& matcher, ir::OperandId id, double& scale) {
  while (true) {
    const ir::Operation* product = matcher.find(id, "Mul");
    const ir::Operation* quotient = product ? nullptr : matcher.find(id, "Div");
    const ir::Operation* operation = product ? product : quotient;
    const auto parts = operation ? matcher.with_number(*operation) : std::nullopt;
    if (!parts || !has_rank_of_heads(matcher.subgraph(), parts->first)) return id;
    const double scaled = product ? scale * parts->second : scale / parts->second;
    if (!is_moderate(parts->second) || !is_moderate(scaled)) return id;
    scale = scaled;
    id = parts->first;
  }
}

std::vector<std::int64_t> perm_of(const ir::Operation& transpose) {
  const auto* perm = transpose.attributes.find<std::vector<std::int64_t>>("perm");
  return perm == nullptr ? std::vector<std::int64_t>() : *perm;
}

bool same_last_two(const ir::Shape& a, const ir::Shape& b) {
  return a.size() >= 2 && b.size() >= 2 && std::equal(a.end() - 2, a.end(), b.end() - 2);
}

/// `repeated` [B, H, G, T, D] is x [B, H, T, D] with every head G times: gives x, else invalid.
ir::OperandId without_expand(const Matcher& matcher, ir::OperandId repeated) {
  const ir::Subgraph& subgraph = matcher.subgraph();
  const ir::Operation* expand = matcher.find(repeated, "Expand");
  const ir::Operation* split = expand ? matcher.find(expand->inputs[0], "Unsqueeze") : nullptr;
  if (expand != nullptr && split == nullptr) split = matcher.find(expand->inputs[0], "Reshape");
  if (split == nullptr) return {};
  const ir::Shape* many = shape_of(subgraph, repeated);
  const ir::Shape* one = shape_of(subgraph, expand->inputs[0]);
  const ir::Shape* x = shape_of(subgraph, split->inputs[0]);
  if (!many || !one || !x || many->size() != 5 || x->size() != 4) return {};
  const ir::Shape single = {(*x)[0], (*x)[1], 1, (*x)[2], (*x)[3]};
  const ir::Shape grown = {(*x)[0], (*x)[1], (*many)[2], (*x)[2], (*x)[3]};
  return *one == single && *many == grown ? split->inputs[0] : ir::OperandId();
}

/// Keys or values before each of their heads is repeated for the queries that share it:
/// Reshape[Expand[x as [B, H, 1, T, D]]]; else the operand itself.
ir::OperandId without_repetition(const Matcher& matcher, ir::OperandId id) {
  const ir::Subgraph& subgraph = matcher.subgraph();
  const ir::Operation* fold = matcher.find(id, "Reshape");
  const ir::OperandId source = fold ? without_expand(matcher, fold->inputs[0]) : ir::OperandId();
  if (!source.is_valid() || !has_rank(subgraph, id, 4)) return id;
  const ir::Shape& whole = *shape_of(subgraph, id);
  const ir::Shape& x = *shape_of(subgraph, source);
  return whole[0] == x[0] && whole[2] == x[2] && whole[3] == x[3] ? source : id;
}

/// k^T as torch writes it: Reshape[Transpose[Reshape[k]]], at rank 3 in between; k may be
/// repeated heads.
ir::OperandId transposed_at_rank_3(const Matcher& matcher, ir::OperandId key) {
  const ir::Subgraph& subgraph = matcher.subgraph();
  const ir::Operation* unfold = matcher.find(key, "Reshape");
  const ir::Operation* transpose = unfold ? matcher.find(unfold->inputs[0], "Transpose") : nullptr;
  const ir::Operation* fold = transpose ? matcher.find(transpose->inputs[0], "Reshape") : nullptr;
  if (fold == nullptr || perm_of(*transpose) != std::vector<std::int64_t>{0, 2, 1}) return {};
  const ir::Shape* k = shape_of(subgraph, fold->inputs[0]);
  const ir::Shape* folded = shape_of(subgraph, fold->outputs[0]);
  const ir::Shape* turned = shape_of(subgraph, transpose->outputs[0]);
  const ir::Shape* kt = shape_of(subgraph, key);
  if (!k || !folded || !turned || !kt || k->empty() || kt->size() != 4 ||
      k->front() != kt->front() || !same_last_two(*k, *folded) || !same_last_two(*turned, *kt)) {
    return {};
  }
  if (k->size() == 5) return without_expand(matcher, fold->inputs[0]);
  return k->size() == 4 && (*k)[1] == (*kt)[1] ? fold->inputs[0] : ir::OperandId();
}

/// Reads the scores q * k^T off their product.
bool match_product(const Matcher& matcher, ir::OperandId scores, AttentionParts& found) {
  const ir::Operation* product = matcher.find(scores, "MatMul");
  if (product == nullptr) return false;
  found.q = without_scale(matcher, product->inputs[0], found.scale);
  const ir::OperandId key = without_scale(matcher, product->inputs[1], found.scale);
  if (const ir::OperandId source = transposed_at_rank_3(matcher, key); source.is_valid()) {
    found.key_source = without_scale(matcher, source, found.scale);
    found.key_perm = {0, 1, 2, 3};
    return true;
  }
  const ir::Operation* transpose = matcher.find(key, "Transpose");
  if (transpose == nullptr) return false;
  found.key_perm = perm_of(*transpose);
  const std::size_t rank = found.key_perm.size();
  if (rank != 3 && rank != 4) return false;
  std::swap(found.key_perm[rank - 1], found.key_perm[rank - 2]);
  found.key_source = transpose->inputs[0];
  if (is_ascending(found.key_perm)) {
    found.key_source = without_scale(matcher, found.key_source, found.scale);
  }
  return true;
}

bool match_scores(const Matcher& matcher, ir::OperandId id, AttentionParts& found);

/// Whether every number of the type is one of f32, in which attentions compute.
bool is_exact_in_f32(ir::ElementType element) {
  return element == ir::ElementType::kF32 || element == ir::ElementType::kF16 ||
         element == ir::ElementType::kBf16;
}

/// Scores of which a Where replaces some by a number.
bool match_choice(const Matcher& matcher, const ir::Operation& choice, AttentionParts& found) {
  for (const std::size_t i : {2, 1}) {
    const auto number = scalar_value(matcher.subgraph(), choice.inputs[i]);
    if (!number || !is_exact_in_f32(matcher.subgraph().operand(choice.inputs[i]).type.element())) {
      continue;
    }
    const auto hidden = static_cast<float>(*number);
    AttentionParts candidate = found;
    if (candidate.hidden && *candidate.hidden != hidden) continue;
    candidate.hidden = hidden;
    candidate.masks.push_back(
        {.operand = choice.inputs[0], .replaces = true, .is_hidden_if = i == 1});
    if (!match_scores(matcher, choice.inputs[3 - i], candidate)) continue;
    found = candidate;
    return true;
  }
  return false;
}

/// Scores to which a mask is added.
bool match_sum(const Matcher& matcher, const ir::Operation& sum, AttentionParts& found) {
  for (const std::size_t i : {0, 1}) {
    AttentionParts candidate = found;
    candidate.masks.push_back({.operand = sum.inputs[1 - i]});
    if (!match_scores(matcher, sum.inputs[i], candidate)) continue;
    found = candidate;
    return true;
  }
  return false;
}

/// Scores to which a mask is added while they have one more axis, of length 1, in front.
bool match_wide_sum(const Matcher& matcher, const ir::Operation& view, AttentionParts& found) {
  const ir::Subgraph& subgraph = matcher.subgraph();
  const ir::Operation* sum = matcher.find(view.inputs[0], "Add");
  if (sum == nullptr) return false;
  const auto is_wide = [&](ir::OperandId id) {
    const ir::Shape* shape = shape_of(subgraph, id);
    return shape != nullptr && shape->size() == 5 && shape->front().is(1);
  };
  for (const std::size_t i : {0, 1}) {
    const ir::Operation* inner = matcher.find(sum->inputs[i], "Reshape");
    if (inner == nullptr || !is_wide(sum->inputs[0]) || !is_wide(sum->inputs[1])) continue;
    const ir::Shape* narrow = shape_of(subgraph, inner->inputs[0]);
    const ir::Shape& wide = *shape_of(subgraph, sum->inputs[i]);
    const ir::Shape* result = shape_of(subgraph, view.outputs[0]);
    if (!narrow || !result || *narrow != *result ||
        !std::equal(narrow->begin(), narrow->end(), wide.begin() + 1, wide.end())) {
      continue;
    }
    AttentionParts candidate = found;
    candidate.masks.push_back({.operand = sum->inputs[1 - i], .drops_first_axis = true});
    if (!match_scores(matcher, inner->inputs[0], candidate)) continue;
    found = candidate;
    return true;
  }
  return false;
}

/// Reads the softmax's argument: scaled scores, masks added or chosen.
bool match_scores(const Matcher& matcher, ir::OperandId id, AttentionParts& found) {
  if (found.masks.size() <= kMaxMasks) {
    if (const ir::Operation* choice = matcher.find(id, "Where")) {
      return match_choice(matcher, *choice, found);
    }
    if (const ir::Operation* sum = matcher.find(id, "Add")) return match_sum(matcher, *sum, found);
    if (const ir::Operation* view = matcher.find(id, "Reshape")) {
      return match_wide_sum(matcher, *view, found);
    }
  }
  return match_product(matcher, without_scale(matcher, id, found.scale), found);
}

bool is_over_last_axis(const ir::Operation& softmax, std::size_t rank) {
  constexpr int kFirstOfOneAxis = 13;  // older versions treat all axes from `axis` on as one
  const std::int64_t axis = softmax.attributes.get_or("axis", std::int64_t{-1});
  return softmax.version >= kFirstOfOneAxis &&
         (axis == -1 || axis + 1 == static_cast<std::int64_t>(rank));
}

/// The softmax behind torch's guard: Where[IsNaN[s], 0, s].
const ir::Operation* find_guarded_softmax(const Matcher& matcher, ir::OperandId id) {
  const ir::Operation* guard = matcher.find(id, "Where");
  if (guard == nullptr) return nullptr;
  const ir::Operation* test = matcher.find(guard->inputs[0], "IsNaN");
  const bool guards = test != nullptr && test->inputs[0] == guard->inputs[2] &&
                      scalar_value(matcher.subgraph(), guard->inputs[1]) == 0.0;
  return guards ? matcher.find(guard->inputs[2], "Softmax") : nullptr;
}

/// Whether masks may be summed before the scores are added: of the constants among them at most one
/// has large numbers, and those above 0 are none that another mask could cancel.
bool can_be_summed(const ir::Subgraph& subgraph, const std::vector<AttentionMask>& masks) {
  constexpr double kLarge = 0x1p10;
  const auto is_added = [](const AttentionMask& mask) { return !mask.replaces; };
  if (std::ranges::count_if(masks, is_added) < 2) return true;
  int num_large = 0;
  for (const AttentionMask& mask : masks) {
    const ir::Constant* constant = subgraph.find_constant(mask.operand);
    const auto values = constant ? ir::float_values(*constant) : std::nullopt;
    if (!values) continue;
    const auto is_large = [](double x) { return std::isfinite(x) && std::abs(x) > kLarge; };
    if (std::ranges::any_of(*values, is_large)) ++num_large;
    if (std::ranges::any_of(*values, [](double x) { return x > kLarge; })) return false;
  }
  return num_large < 2;
}

/// Whether the heads fit, the result has the shape of an attention's, and no mask's last axis is
/// broadcast.
bool fits(const Matcher& matcher, const AttentionParts& found, const ir::Operation& root) {
  const ir::Subgraph& subgraph = matcher.subgraph();
  const ir::Shape* q = shape_of(subgraph, found.q);
  const ir::Shape* k = shape_of(subgraph, found.key_source);
  const ir::Shape* v = shape_of(subgraph, found.v);
  const ir::Shape* result = shape_of(subgraph, root.outputs[0]);
  const std::size_t rank = found.key_perm.size();
  if (!q || !k || !v || !result || q->size() != rank || k->size() != rank || v->size() != rank) {
    return false;
  }
  const auto key_dim = [&](std::size_t i) {
    return (*k)[static_cast<std::size_t>(found.key_perm[i])];
  };
  const ir::Dim heads = (*q)[rank - 3];
  const ir::Dim shared = key_dim(rank - 3);
  const bool divides = heads.is_known() && shared.is_known() && shared.value() > 0 &&
                       heads.value() % shared.value() == 0;
  if ((*q)[0] != key_dim(0) || (*q)[0] != (*v)[0] || shared != (*v)[rank - 3] ||
      !(heads == shared || (rank == 4 && divides))) {
    return false;
  }
  ir::Shape expected = *q;
  expected[rank - 1] = (*v)[rank - 1];
  return *result == expected && std::ranges::all_of(found.masks, [&](const AttentionMask& mask) {
    const ir::Shape* shape = shape_of(subgraph, mask.operand);
    const std::size_t most = rank + (mask.drops_first_axis ? 1 : 0);
    return shape != nullptr && !shape->empty() && shape->size() <= most &&
           shape->back() == key_dim(rank - 2);
  });
}

}  // namespace

std::optional<AttentionParts> match_attention(const Matcher& matcher, const ir::Operation& root) {
  AttentionParts found;
  const ir::Operation* softmax = find_guarded_softmax(matcher, root.inputs[0]);
  found.zeroes_nan = softmax != nullptr;
  if (softmax == nullptr) softmax = matcher.find(root.inputs[0], "Softmax");
  if (softmax == nullptr) return std::nullopt;
  if (!match_scores(matcher, softmax->inputs[0], found)) return std::nullopt;
  if (!is_over_last_axis(*softmax, found.key_perm.size()) ||
      !can_be_summed(matcher.subgraph(), found.masks)) {
    return std::nullopt;
  }
  found.v = root.inputs[1];
  AttentionParts shared = found;
  shared.v = without_repetition(matcher, found.v);
  if (is_ascending(found.key_perm)) {
    shared.key_source = without_repetition(matcher, found.key_source);
  }
  if (fits(matcher, shared, root)) return shared;
  return fits(matcher, found, root) ? std::optional(found) : std::nullopt;
}

bool is_ascending(const std::vector<std::int64_t>& perm) {
  return std::is_sorted(perm.begin(), perm.end());
}

}  // namespace sluice::passes
