// PagedAttention: attention of tokens of many sequences over keys and values that lie in pages.
//
//   q [T, Hq * D], a row for each token; keys [P, Hk, L, D] and values [P, Hk, L, Dv], pools of P
//   pages of L places, both of one type, which may have fewer bits than that of q; positions [T],
//   sequences [T], tables [N, B]. Rows of i8 are those of RoundRows: D numbers, then their scale in
//   4 bytes.
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
//
// RoundRows: rows of 8 bits, each with a scale of its own.
//
//   x [.., D] floats; y [.., D + 4] i8: the numbers of a row, then `scale`, an f32 whose bytes are
//   in the order of the machine, the low one first.
//
//   scale = max |x| / 127 in f32; y = x / scale in f32, rounded to the nearest, ties to even, and
//   bound to [-127, 127]. So a number differs from y * scale by half a scale at most, and by a part
//   in 2^23 of itself. A row whose scale is below 2^-126 becomes zeros of scale 0. A row with an
//   infinity or NaN becomes zeros of scale NaN: whoever reads it gets NaN, not a wrong number.
#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

constexpr std::size_t kRanks[] = {2, 4, 4, 1, 1, 2};

constexpr TypeSet kPageTypes = kFloats | TypeSet{ir::ElementType::kI8};
/// Bytes of a row's scale, behind its numbers of i8.
constexpr std::int64_t kScaleBytes = 4;

/// Numbers of a row of keys (input 1) or values (input 2), which is at least one.
ir::Dim row_size(const InferenceContext& context, std::size_t input) {
  const ir::Dim& row = context.shape(input)->back();
  return context.element(input) == ir::ElementType::kI8 ? row - kScaleBytes : row;
}

Status check_pools(const InferenceContext& context) {
  const ir::Shape& keys = *context.shape(1);
  const ir::Shape& values = *context.shape(2);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (may_be_equal(keys[axis], values[axis])) continue;
    return context.error("keys {} and values {} do not fit", ir::shape_to_string(keys),
                         ir::shape_to_string(values));
  }
  const std::int64_t least = context.element(1) == ir::ElementType::kI8 ? kScaleBytes + 1 : 1;
  for (const ir::Shape* pool : {&keys, &values}) {
    const ir::Dim& row = pool->back();
    const bool is_empty = row.is_known() && row.value() < least;
    if (!(*pool)[1].is(0) && !(*pool)[2].is(0) && !is_empty) continue;
    return context.error("a page of keys {} or values {} is empty", ir::shape_to_string(keys),
                         ir::shape_to_string(values));
  }
  return ok_status();
}

/// Heads of the queries; nullopt where a dimension is not known.
Result<std::optional<std::int64_t>> query_heads(const InferenceContext& context) {
  const ir::Dim& width = (*context.shape(0))[1];
  const ir::Dim& heads = (*context.shape(1))[1];
  const ir::Dim size = row_size(context, 1);
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
    if (shape == nullptr) return ok_status();
    if (shape->size() != kRanks[i]) {
      return context.error("input {} has rank {}; expected {}", i, shape->size(), kRanks[i]);
    }
  }
  SLUICE_TRY(check_pools(context));
  const ir::Dim& rows = (*context.shape(0))[0];
  for (const std::size_t i : {3U, 4U}) {
    if (may_be_equal(rows, context.shape(i)->front())) continue;
    return context.error("input {} has {} rows and q has {}", i, context.shape(i)->front().value(),
                         rows.value());
  }
  const auto heads = SLUICE_TRY(query_heads(context));
  const ir::Dim size = row_size(context, 2);
  context.set_output(
      0, context.element(0),
      ir::Shape{rows, heads && size.is_known() ? size * *heads : context.unknown_dim()});
  return ok_status();
}

Status infer_round_rows(InferenceContext& context) {
  const ir::Shape* x = context.shape(0);
  if (x == nullptr) return ok_status();
  if (x->empty()) return context.error("x has no rows");
  ir::Shape y = *x;
  y.back() = y.back() + kScaleBytes;
  context.set_output(0, ir::ElementType::kI8, std::move(y));
  return ok_status();
}

}  // namespace

std::vector<OpSchema> paged_ops() {
  return {{.domain = "sluice",
           .name = "PagedAttention",
           .versions = {1},
           .doc = "attention of tokens of many sequences over pages of keys and values",
           .inputs = {{"q", kFloats, "T"},
                      {"keys", kPageTypes, "C"},
                      {"values", kPageTypes, "C"},
                      {"positions", kI64Only},
                      {"sequences", kI64Only},
                      {"tables", kI64Only}},
           .outputs = {{"y", kFloats, "T"}},
           .attributes = {{"scale", 0.0F}, {"softcap", 0.0F}, {"window", std::int64_t{0}}},
           .infer = infer_paged_attention},
          {.domain = "sluice",
           .name = "RoundRows",
           .versions = {1},
           .doc = "rows of 8 bits, each with its scale behind",
           .inputs = {{"x", kFloats}},
           .outputs = {{"y", {ir::ElementType::kI8}}},
           .infer = infer_round_rows}};
}

}  // namespace sluice::ops
