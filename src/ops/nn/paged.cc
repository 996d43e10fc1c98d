// PagedAttention: attention of tokens of many sequences over keys and values that lie in pages.
//
//   q [T, Hq * D], a row for each token; keys [P, Hk, L, D] and values [P, Hk, L, Dv], pools of P
//   pages of L places, both of one type, which may have fewer bits than that of q; positions [T],
//   sequences [T], tables [N, B].
//
// Row t is token positions[t] of sequence sequences[t]. Place p of sequence s lies in page
// tables[s, p / L], at p % L. The row sees the places up to its own, so a length is a position and
// one; with `window` w > 0 it sees the last w of them. What a row sees is all that counts: other
// places may hold anything, NaN too, and other entries of a table any number. Sequences may share
// pages. Query head h reads key head h / (Hq / Hk), with Hq = the width of q / D.
//
//   y [T, Hq * Dv] = softmax(cap(scale * q K^T)) V; `scale` 0 means 1 / sqrt(D)
//   cap(s) = c * tanh(s / c) with c = `softcap` above 0, else s
//
// Positions, sequences and tables are data, checked in each run before pages are read: a shape says
// how many rows there are and how large a table may be, and nothing about lengths. So one plan
// serves sequences of all lengths. ScatterND writes new keys and values before, in place where a
// backend can, and RotaryEmbedding turns the keys before that.
#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

constexpr std::size_t kRanks[] = {2, 4, 4, 1, 1, 2};

bool differ(const ir::Dim& a, const ir::Dim& b) { return a.is_known() && b.is_known() && a != b; }

Status check_pools(const InferenceContext& context) {
  const ir::Shape& keys = *context.shape(1);
  const ir::Shape& values = *context.shape(2);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!differ(keys[axis], values[axis])) continue;
    return context.error("keys {} and values {} do not fit", ir::shape_to_string(keys),
                         ir::shape_to_string(values));
  }
  for (std::size_t axis = 1; axis < 4; ++axis) {
    if (!keys[axis].is(0) && !values[axis].is(0)) continue;
    return context.error("a page of keys {} or values {} is empty", ir::shape_to_string(keys),
                         ir::shape_to_string(values));
  }
  return ok_status();
}

/// Heads of the queries; nullopt where a dimension is not known.
Result<std::optional<std::int64_t>> query_heads(const InferenceContext& context) {
  const ir::Dim& width = (*context.shape(0))[1];
  const ir::Dim& heads = (*context.shape(1))[1];
  const ir::Dim& size = (*context.shape(1))[3];
  if (!width.is_known() || !heads.is_known() || !size.is_known()) {
    return std::optional<std::int64_t>();
  }
  const std::int64_t count = width.value() / size.value();
  if (width.value() % size.value() == 0 && count % heads.value() == 0) return std::optional(count);
  return context.error("q is {} wide; expected a multiple of {} heads of {}", width.value(),
                       heads.value(), size.value());
}

Status infer_paged_attention(InferenceContext& context) {
  for (std::size_t i = 0; i < std::size(kRanks); ++i) {
    const ir::Shape* shape = context.shape(i);
    if (shape == nullptr) {
      context.set_output(0, context.element(0), std::nullopt);
      return ok_status();
    }
    if (shape->size() != kRanks[i]) {
      return context.error("input {} has rank {}; expected {}", i, shape->size(), kRanks[i]);
    }
  }
  SLUICE_TRY(check_pools(context));
  const ir::Dim& rows = (*context.shape(0))[0];
  for (const std::size_t i : {3U, 4U}) {
    if (!differ(rows, context.shape(i)->front())) continue;
    return context.error("input {} has {} rows and q has {}", i, context.shape(i)->front().value(),
                         rows.value());
  }
  const auto heads = SLUICE_TRY(query_heads(context));
  const ir::Dim& size = (*context.shape(2))[3];
  context.set_output(
      0, context.element(0),
      ir::Shape{rows, heads && size.is_known() ? size * *heads : context.unknown_dim()});
  return ok_status();
}

}  // namespace

std::vector<OpSchema> paged_ops() {
  return {{.domain = "sluice",
           .name = "PagedAttention",
           .versions = {1},
           .doc = "attention of tokens of many sequences over pages of keys and values",
           .inputs = {{"q", kFloats, "T"},
                      {"keys", kFloats, "C"},
                      {"values", kFloats, "C"},
                      {"positions", kI64Only},
                      {"sequences", kI64Only},
                      {"tables", kI64Only}},
           .outputs = {{"y", kFloats, "T"}},
           .attributes = {{"scale", 0.0F}, {"softcap", 0.0F}, {"window", std::int64_t{0}}},
           .infer = infer_paged_attention}};
}

}  // namespace sluice::ops
