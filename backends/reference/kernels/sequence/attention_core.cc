#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/kernels/nn/softmax.h"
#include "reference/kernels/sequence/attention.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

bool is_zeroed(ZeroRows zero_rows, bool sees_any, std::span<const double> softmaxed) {
  const auto is_nan = [](double x) { return std::isnan(x); };
  switch (zero_rows) {
    case ZeroRows::kNone: return false;
    case ZeroRows::kHidden: return !sees_any;
    case ZeroRows::kNan: return std::ranges::any_of(softmaxed, is_nan);
  }
  return false;
}

/// Scores of one query against all keys, up to the softmax; `shown` gets the stage asked for.
void score_query(const AttentionProblem& problem, std::int64_t b, std::int64_t head,
                 std::int64_t query, ScoreStage stage, std::span<double> line,
                 std::span<double> shown) {
  // Several heads of the query share one of the keys (grouped-query attention).
  const std::int64_t kv_head = head / (problem.q_heads / problem.kv_heads);
  const double* q =
      problem.q.data() + ((b * problem.q_heads + head) * problem.queries + query) * problem.size;
  const double* k =
      problem.k.data() + (b * problem.kv_heads + kv_head) * problem.keys * problem.size;
  const auto show = [&](ScoreStage reached) {
    if (stage == reached && !shown.empty()) std::ranges::copy(line, shown.begin());
  };
  for (std::int64_t key = 0; key < problem.keys; ++key) {
    double sum = 0;
    for (std::int64_t i = 0; i < problem.size; ++i) sum += q[i] * k[key * problem.size + i];
    line[index(key)] = sum * problem.scale;
  }
  show(ScoreStage::kRaw);
  if (problem.softcap > 0) {
    for (double& score : line) score = std::tanh(score / problem.softcap) * problem.softcap;
  }
  show(ScoreStage::kCapped);
  bool sees_any = false;
  for (std::int64_t key = 0; key < problem.keys; ++key) {
    const double bias = problem.bias ? problem.bias(b, head, query, key) : 0;
    const bool is_kept = !problem.keep || problem.keep(b, head, query, key);
    if (!is_kept) line[index(key)] = problem.hidden;
    // Hidden by -inf alone: a finite `hidden` leaves the key a share.
    sees_any = sees_any || (bias != kNever && (is_kept || problem.hidden != kNever));
    line[index(key)] += bias;
  }
  show(ScoreStage::kBiased);
  softmax(line);
  if (is_zeroed(problem.zero_rows, sees_any, line)) std::ranges::fill(line, 0.0);
  show(ScoreStage::kSoftmax);
}

}  // namespace

std::vector<double> attend(const AttentionProblem& problem, ScoreStage stage,
                           std::vector<double>* scores) {
  const std::int64_t rows = problem.batch * problem.q_heads * problem.queries;
  std::vector<double> y(index(rows * problem.v_size), 0.0);
  std::vector<double> line(index(problem.keys));
  if (scores != nullptr) scores->assign(index(rows * problem.keys), 0.0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t query = row % problem.queries;
    const std::int64_t head = row / problem.queries % problem.q_heads;
    const std::int64_t b = row / problem.queries / problem.q_heads;
    std::span<double> shown;
    if (scores != nullptr) {
      shown = std::span(*scores).subspan(index(row * problem.keys), index(problem.keys));
    }
    score_query(problem, b, head, query, stage, line, shown);
    const std::int64_t kv_head = head / (problem.q_heads / problem.kv_heads);
    const double* v =
        problem.v.data() + (b * problem.kv_heads + kv_head) * problem.keys * problem.v_size;
    for (std::int64_t key = 0; key < problem.keys; ++key) {
      for (std::int64_t i = 0; i < problem.v_size; ++i) {
        y[index(row * problem.v_size + i)] += line[index(key)] * v[key * problem.v_size + i];
      }
    }
  }
  return y;
}

std::vector<double> concat_middle(const std::vector<double>& a, const std::vector<double>& b,
                                  std::int64_t outer, std::int64_t a_size, std::int64_t b_size) {
  std::vector<double> joined;
  joined.reserve(a.size() + b.size());
  for (std::int64_t i = 0; i < outer; ++i) {
    joined.insert(joined.end(), a.begin() + i * a_size, a.begin() + (i + 1) * a_size);
    joined.insert(joined.end(), b.begin() + i * b_size, b.begin() + (i + 1) * b_size);
  }
  return joined;
}

}  // namespace sluice::reference
