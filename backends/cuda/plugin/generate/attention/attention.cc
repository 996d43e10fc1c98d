// Attention, ONNX's and Sluice's own. Which kernel computes it: a few queries go to warps that
// divide the keys (few_queries.h), halves to the matrix units (matrix_tiles.h), other queries to
// blocks of a few (few_queries.h, too), and what is left to a warp per query (text/attend.h).

#include <algorithm>

#include "plugin/generate/attention/few_queries.h"
#include "plugin/generate/attention/matrix_tiles.h"
#include "plugin/generate/attention/scores.h"
#include "plugin/generate/families.h"
#include "plugin/generate/text/attend.h"
#include "plugin/generate/text/tactic.h"
#include "plugin/generate/text/types.h"
#include "plugin/generate/text/warp_rows.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"Attention", "sluice::Attention", nullptr};

// Tactics beside the default.
constexpr const char* kMatrixTiles = "matrix-tiles";
constexpr const char* kByWarp = "warp-per-query";

/// The weights, for output 3.
std::string show_weights(const Scores& scores) {
  if (scores.stage() != 3) return "";
  const std::string keys = std::to_string(scores.problem().keys);
  return "  for (Index j = threadIdx.x; j < " + keys + "; j += 32) {\n    y3[own.row * " + keys +
         " + j] = is_zero ? 0.0f : expf(score(j, false) - most) / sum;\n  }\n";
}

/// Statements for one query: `score(j, is_shown)`, the loop over the keys, the result.
std::string attend_by_warp(Scores& scores) {
  const Problem& p = scores.problem();
  const std::string queries = std::to_string(p.q.length);
  const std::string heads = std::to_string(p.q.heads);
  return find_row(p.rows()) + "  const Index head = row / " + queries + " % " + heads +
         ", batch = row / " + queries + " / " + heads + ", kv = head / " +
         std::to_string(p.group()) + ";\n" + scores.query() + scores.point_at_keys() +
         "  Query own = find_query(batch, head, row % " + queries + ");\n" + scores.adjust() +
         "  const auto score = [&](Index j, bool is_shown) -> float {\n"
         "    const auto* const k = key_at(j);\n    float s = 0.0f;\n    for (int d = 0; d < " +
         std::to_string(p.k.size) +
         "; ++d) s += float(own.q[d]) * float(k[d]);\n"
         "    return adjust(own, s, j, true, is_shown);\n  };\n" +
         attend_text("0", std::to_string(p.keys), p.v.size,
                     "      const auto* const v = value_at(at);\n") +
         "  own.sees_any = __any_sync(0xffffffffu, own.sees_any);\n  const bool is_zero = " +
         scores.is_zero("own", "sum") + ";\n" +
         store_attended("own.y[d]", p.v.size, "is_zero ? 0.0f : a[n] / sum") + show_weights(scores);
}

Status write_by_warp(const sluice_op& op, const Problem& problem, Source* source) {
  if (!set_row_grid(std::max<std::int64_t>(problem.rows(), 1), source)) return too_large(op);
  const std::int64_t num_threads = std::int64_t{source->grid[0]} * 32 * kRowsPerBlock;
  Parameters parameters(op);
  Scores scores(op, problem, &parameters);
  scores.add_operands();
  const std::string thread = "(Index(blockIdx.x) * " + std::to_string(kRowsPerBlock) +
                             " + threadIdx.y) * 32 + threadIdx.x";
  std::string body = scores.join_past(thread, num_threads);
  if (has_output(op, 3)) parameters.add_output(3);
  if (problem.rows() > 0) body += attend_by_warp(scores);
  source->text =
      kernel_head(parameters, scores.largest(num_threads), scores.element() + attend_functions()) +
      body + "}\n";
  source->operands = parameters.operands();
  return plugin::ok();
}

Status write(const sluice_op& op, Source* source) {
  Problem problem;
  if (!find_problem(op, &problem)) return shapes_disagree(op);
  const bool few_fit = fits_few_queries(op, problem);
  const bool tiles_fit = fits_matrix_tiles(op, problem);
  const std::string_view tactic = tactic_of(op);
  const bool takes_tiles = tiles_fit && tactic == kMatrixTiles;
  const bool takes_warps = tactic == kByWarp;
  source->is_chosen = source->is_chosen || takes_tiles || takes_warps;
  const bool is_for_tiles = tiles_fit && (takes_tiles || !few_fit || !is_few_queries(problem));
  if (is_for_tiles && !takes_warps) return write_matrix_tiles(op, problem, source);
  if (few_fit && !takes_warps) return write_few_queries(op, problem, source);
  return write_by_warp(op, problem, source);
}

std::vector<std::string> tactics(const sluice_op& /*op*/) { return {kMatrixTiles, kByWarp}; }

}  // namespace

const Family kAttentionFamily = {kKinds, check_attention, write, tactics};

}  // namespace sluice::cuda
