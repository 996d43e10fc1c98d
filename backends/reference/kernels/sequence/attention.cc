// ONNX's Attention and RotaryEmbedding.
#include "reference/kernels/sequence/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/families.h"
#include "reference/kernels/sequence/heads.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

using Doubles = std::vector<double>;

/// What keeps a query from a key: the mask, causality, a sliding window, padding of the keys.
struct Masking {
  Doubles mask;
  std::vector<std::int64_t> strides;
  std::int64_t mask_keys = 0;  ///< keys past it are masked
  bool is_causal = false;
  std::int64_t left = -1, right = -1;
  std::vector<std::int64_t> before;  ///< per batch element: keys that precede the first query
  std::vector<std::int64_t> valid;   ///< per batch element: keys that count; empty for all

  double operator()(std::int64_t b, std::int64_t head, std::int64_t query, std::int64_t key) const {
    const std::int64_t place = before[index(b)] + query;
    if (is_causal && key > place) return kNever;
    // Windows of -1 are none.
    if (left >= 0 && place - key > left) return kNever;
    if (right >= 0 && key - place > right) return kNever;
    if (!valid.empty() && key >= valid[index(b)]) return kNever;
    if (mask.empty()) return 0;
    if (key >= mask_keys) return kNever;
    return mask[index(b * strides[0] + head * strides[1] + query * strides[2] + key * strides[3])];
  }
};

/// The mask broadcasts to [B, H, S, its own last dimension or the number of keys].
Status read_mask(const Call& call, const AttentionProblem& problem, Masking* masking) {
  masking->mask_keys = problem.keys;
  if (!call.has_input(3)) return plugin::ok();
  const Dims dims = input_dims(call, 3);
  masking->mask = read_doubles(call.input(3));
  if (!dims.empty() && dims.back() < problem.keys && dims.back() != 1) {
    masking->mask_keys = dims.back();
  }
  const std::array target = {problem.batch, problem.q_heads, problem.queries, masking->mask_keys};
  std::vector<std::int64_t> met;
  const Status status = broadcast_dims(dims, target, &met);
  if (!status.is_ok() || !std::ranges::equal(met, target) ||
      masking->mask.size() != index(size_of(dims))) {
    return refuse(call, "the mask does not broadcast to " + plugin::to_string(target));
  }
  masking->strides = broadcast_strides(dims, target);
  if (call.input(3).element_type == plugin::kBool) {
    for (double& value : masking->mask) value = value != 0 ? 0 : kNever;
  }
  return plugin::ok();
}

Status read_masking(const Call& call, const AttentionProblem& problem, Masking* masking) {
  const plugin::Attributes attributes = call.attributes();
  masking->is_causal = attributes.get_int("is_causal") != 0;
  masking->left = attributes.get_int("left_window_size", -1);
  masking->right = attributes.get_int("right_window_size", -1);
  const std::int64_t past = call.has_input(4) ? input_dims(call, 4)[2] : 0;
  masking->before.assign(index(problem.batch), past);
  if (call.has_input(6)) {
    masking->valid = read_ints(call.input(6));
    if (masking->valid.size() != index(problem.batch)) {
      return refuse(call, "nonpad_kv_seqlen needs an element per batch");
    }
    for (std::size_t b = 0; b < masking->valid.size(); ++b) {
      // The queries are the last of the keys that count.
      masking->valid[b] = std::clamp<std::int64_t>(masking->valid[b], 0, problem.keys);
      masking->before[b] = masking->valid[b] - problem.queries;
    }
  }
  return read_mask(call, problem, masking);
}

Status make_problem(const Call& call, Heads q, Heads k, Heads v, AttentionProblem* problem) {
  if (k.heads < 1 || q.heads % k.heads != 0 || q.batch != k.batch || q.size != k.size ||
      v.batch != k.batch || v.heads != k.heads || v.length != k.length) {
    return refuse(call, "Q, K and V do not fit");
  }
  *problem = {q.batch, q.heads, k.heads, q.length, k.length, q.size, v.size};
  problem->q = std::move(q.values);
  problem->k = std::move(k.values);
  problem->v = std::move(v.values);
  const double fallback = 1 / std::sqrt(static_cast<double>(problem->size));
  const bool has_scale = call.attributes().find("scale", SLUICE_ATTRIBUTE_FLOAT) != nullptr;
  problem->scale = has_scale ? call.attributes().get_float("scale") : fallback;
  problem->softcap = call.attributes().get_float("softcap");
  return plugin::ok();
}

Status run_attention(const Call& call) {
  Heads q, k, v;
  Status status = read_heads(call, 0, "q_num_heads", &q);
  if (status.is_ok()) status = read_heads(call, 1, "kv_num_heads", &k);
  if (status.is_ok()) status = read_heads(call, 2, "kv_num_heads", &v);
  if (status.is_ok()) status = append_past(call, 4, &k);
  if (status.is_ok()) status = append_past(call, 5, &v);
  AttentionProblem problem;
  if (status.is_ok()) {
    status = make_problem(call, std::move(q), std::move(k), std::move(v), &problem);
  }
  Masking masking;
  if (status.is_ok()) status = read_masking(call, problem, &masking);
  if (!status.is_ok()) return status;
  problem.bias = std::cref(masking);
  const std::int64_t mode = call.attributes().get_int("qk_matmul_output_mode");
  if (mode < 0 || mode > 3) return refuse_model(call, "qk_matmul_output_mode must be 0 to 3");
  Doubles scores;
  Doubles y =
      attend(problem, static_cast<ScoreStage>(mode), call.has_output(3) ? &scores : nullptr);
  if (input_dims(call, 0).size() == 3) {
    y = swap_middle(y, problem.batch, problem.q_heads, problem.queries, problem.v_size);
  }
  status = write_doubles(call, 0, y);
  if (status.is_ok() && call.has_output(1)) status = write_doubles(call, 1, problem.k);
  if (status.is_ok() && call.has_output(2)) status = write_doubles(call, 2, problem.v);
  if (status.is_ok() && call.has_output(3)) status = write_doubles(call, 3, scores);
  return status;
}

/// Cosines or sines [rows, half], and for each batch element and position which row.
Status rotate(const Call& call, Heads& x, std::int64_t rotated) {
  const Doubles cosines = read_doubles(call.input(1));
  const Doubles sines = read_doubles(call.input(2));
  const std::int64_t half = rotated / 2;
  const bool has_positions = call.has_input(3);
  const std::vector<std::int64_t> positions = read_ints(call.input(3));
  const auto places = x.batch * x.length;
  const Dims cache = input_dims(call, 1);
  if (cosines.size() != sines.size() || half < 1 || rotated > x.size || cache.empty() ||
      cache.back() != half || (has_positions && positions.size() != index(places))) {
    return refuse(call, "caches or positions do not fit");
  }
  const auto rows = static_cast<std::int64_t>(cosines.size()) / half;
  const bool is_interleaved = call.attributes().get_int("interleaved") != 0;
  for (std::int64_t i = 0; i < x.batch * x.heads * x.length; ++i) {
    const std::int64_t place = i / (x.heads * x.length) * x.length + i % x.length;
    const std::int64_t row = has_positions ? positions[index(place)] : place;
    if (row < 0 || row >= rows) return plugin::index_outside(row, 0, rows);
    for (std::int64_t k = 0; k < half; ++k) {
      double& a = x.values[index(i * x.size + (is_interleaved ? 2 * k : k))];
      double& b = x.values[index(i * x.size + (is_interleaved ? 2 * k + 1 : k + half))];
      const double cosine = cosines[index(row * half + k)];
      const double sine = sines[index(row * half + k)];
      std::tie(a, b) = std::tuple(cosine * a - sine * b, sine * a + cosine * b);
    }
  }
  return plugin::ok();
}

Status run_rotary_embedding(const Call& call) {
  Heads x;
  if (Status status = read_heads(call, 0, "num_heads", &x); !status.is_ok()) return status;
  const std::int64_t given = call.attributes().get_int("rotary_embedding_dim");
  if (Status status = rotate(call, x, given > 0 ? given : x.size); !status.is_ok()) return status;
  if (input_dims(call, 0).size() == 3) {
    x.values = swap_middle(x.values, x.batch, x.heads, x.length, x.size);
  }
  return write_doubles(call, 0, x.values);
}

}  // namespace

std::vector<KernelEntry> attention_kernels() {
  return {{.kind = "Attention", .run = run_attention},
          {.kind = "RotaryEmbedding", .run = run_rotary_embedding}};
}

}  // namespace sluice::reference
