// CausalConvWithState and LinearAttention: sequences in pieces, with a state carried between them.
// Both compute in f32, as their definitions do.
#include <algorithm>
#include <cmath>

#include "reference/families.h"
#include "reference/kernels/support.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using Doubles = std::vector<double>;

constexpr Types<Half, Bfloat16, float> kShortFloats;

Status check_floats(const sluice_op& op) {
  for (const auto& operands : {plugin::inputs_of(op), plugin::outputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      const sluice_element_type type = operand.tensor.element_type;
      if (type != plugin::kAbsent && !contains(kShortFloats, type)) {
        return unsupported_type(op, type);
      }
    }
  }
  return plugin::ok();
}

/// An input of these dimensions, or as many zeros if it is absent.
Status read_or_zeros(const Call& call, int input, Dims dims, const char* name, Doubles* values) {
  values->assign(index(size_of(dims)), 0.0);
  if (!call.has_input(input)) return plugin::ok();
  if (Status status = check_dims(call, call.input(input), dims, name); !status.is_ok()) {
    return status;
  }
  *values = read_doubles(call.input(input));
  return plugin::ok();
}

Status write_if_there(const Call& call, int output, const Doubles& values) {
  return call.has_output(output) ? write_doubles(call, output, values) : plugin::ok();
}

// ---- CausalConvWithState ------------------------------------------------------------------------

Status run_causal_conv(const Call& call) {
  const Dims x = input_dims(call, 0);
  const Dims w = input_dims(call, 1);
  if (x.size() != 3 || w.size() != 3 || w[0] != x[1] || w[1] != 1 || w[2] < 1) {
    return refuse(call,
                  "weight " + plugin::to_string(w) + " does not fit input " + plugin::to_string(x));
  }
  const std::int64_t taps = w[2];
  const std::int64_t carried = taps - 1;
  Doubles bias, past;
  Status status = read_or_zeros(call, 2, std::array{x[1]}, "bias", &bias);
  if (status.is_ok()) {
    status = read_or_zeros(call, 3, std::array{x[0], x[1], carried}, "past_state", &past);
  }
  if (!status.is_ok()) return status;
  const Doubles input = read_doubles(call.input(0));
  const Doubles weight = read_doubles(call.input(1));
  const bool is_silu = call.attributes().get_text("activation", "none") != "none";
  Doubles output, present;
  for (std::int64_t row = 0; row < x[0] * x[1]; ++row) {
    const std::int64_t channel = row % x[1];
    Doubles line(past.begin() + row * carried, past.begin() + (row + 1) * carried);
    line.insert(line.end(), input.begin() + row * x[2], input.begin() + (row + 1) * x[2]);
    for (std::int64_t t = 0; t < x[2]; ++t) {
      double sum = bias[index(channel)];
      for (std::int64_t k = 0; k < taps; ++k) {
        sum += line[index(t + k)] * weight[index(channel * taps + k)];
      }
      output.push_back(is_silu ? sum / (1 + std::exp(-sum)) : sum);
    }
    present.insert(present.end(), line.end() - carried, line.end());
  }
  status = write_doubles(call, 0, output);
  return status.is_ok() ? write_if_there(call, 1, present) : status;
}

// ---- LinearAttention ----------------------------------------------------------------------------

/// Everything as [batch, length, heads, size], as it lies in memory.
struct Recurrence {
  std::int64_t batch, length, q_heads, kv_heads, key_size, value_size;
  Doubles query, key, value, decay, beta;
  std::int64_t decay_size = 0;  ///< per head: 1 or key_size; 0 without decay
  std::int64_t beta_heads = 0;  ///< kv_heads or 1; 0 without beta
  double scale = 1;
};

/// One step of one head: `state` [key_size, value_size] takes in key and value at `place`, which
/// counts batch entries times positions.
void update_state(const Recurrence& r, std::int64_t place, std::int64_t head, Doubles& state) {
  const double* key = &r.key[index((place * r.kv_heads + head) * r.key_size)];
  const double* value = &r.value[index((place * r.kv_heads + head) * r.value_size)];
  for (std::int64_t d = 0; d < r.key_size && r.decay_size > 0; ++d) {
    const std::int64_t at = (place * r.kv_heads + head) * r.decay_size + d % r.decay_size;
    const double kept = std::exp(r.decay[index(at)]);
    for (std::int64_t m = 0; m < r.value_size; ++m) state[index(d * r.value_size + m)] *= kept;
  }
  Doubles written(value, value + r.value_size);
  for (std::int64_t m = 0; m < r.value_size && r.beta_heads > 0; ++m) {
    double known = 0;
    for (std::int64_t d = 0; d < r.key_size; ++d) {
      known += state[index(d * r.value_size + m)] * key[d];
    }
    const double rate = r.beta[index(place * r.beta_heads + head % r.beta_heads)];
    written[index(m)] = rate * (value[m] - known);
  }
  for (std::int64_t d = 0; d < r.key_size; ++d) {
    for (std::int64_t m = 0; m < r.value_size; ++m) {
      state[index(d * r.value_size + m)] += key[d] * written[index(m)];
    }
  }
}

/// What the query heads that share `head` read from its state.
void read_state(const Recurrence& r, std::int64_t place, std::int64_t head, const Doubles& state,
                Doubles& output) {
  const std::int64_t group = r.q_heads / r.kv_heads;
  for (std::int64_t q = head * group; q < (head + 1) * group; ++q) {
    const std::int64_t at = place * r.q_heads + q;
    for (std::int64_t m = 0; m < r.value_size; ++m) {
      double sum = 0;
      for (std::int64_t d = 0; d < r.key_size; ++d) {
        sum += r.query[index(at * r.key_size + d)] * state[index(d * r.value_size + m)];
      }
      output[index(at * r.value_size + m)] = r.scale * sum;
    }
  }
}

Status read_sizes(const Call& call, Recurrence* r) {
  const Dims q = input_dims(call, 0);
  const Dims v = input_dims(call, 2);
  r->q_heads = call.attributes().get_int("q_num_heads");
  r->kv_heads = call.attributes().get_int("kv_num_heads");
  if (r->kv_heads < 1 || r->q_heads < 1 || r->q_heads % r->kv_heads != 0 || q.size() != 3 ||
      v.size() != 3 || q[2] % r->q_heads != 0 || v[2] % r->kv_heads != 0) {
    return refuse(call, "query " + plugin::to_string(q) + " and value " + plugin::to_string(v) +
                            " do not split into heads");
  }
  std::tie(r->batch, r->length) = std::pair(q[0], q[1]);
  r->key_size = q[2] / r->q_heads;
  r->value_size = v[2] / r->kv_heads;
  const float scale = call.attributes().get_float("scale");
  r->scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(r->key_size));
  Status status = check_dims(call, call.input(1),
                             std::array{r->batch, r->length, r->kv_heads * r->key_size}, "key");
  return status.is_ok()
             ? check_dims(call, call.input(2),
                          std::array{r->batch, r->length, r->kv_heads * r->value_size}, "value")
             : status;
}

/// Decay and beta, which may be given once for several elements.
Status read_gates(const Call& call, Recurrence* r) {
  if (call.has_input(4)) {
    const Dims dims = input_dims(call, 4);
    const std::int64_t last = dims.empty() ? 0 : dims.back();
    r->decay_size = last == r->kv_heads ? 1 : r->key_size;
    const std::array expected = {r->batch, r->length, r->kv_heads * r->decay_size};
    Status status = check_dims(call, call.input(4), expected, "decay");
    if (!status.is_ok()) return status;
    r->decay = read_doubles(call.input(4));
  }
  if (!call.has_input(5)) return plugin::ok();
  const Dims dims = input_dims(call, 5);
  r->beta_heads = !dims.empty() && dims.back() == 1 ? 1 : r->kv_heads;
  r->beta = read_doubles(call.input(5));
  return check_dims(call, call.input(5), std::array{r->batch, r->length, r->beta_heads}, "beta");
}

Status run_linear_attention(const Call& call) {
  Recurrence r = {};
  Status status = read_sizes(call, &r);
  if (status.is_ok()) status = read_gates(call, &r);
  const std::array state_dims = {r.batch, r.kv_heads, r.key_size, r.value_size};
  Doubles states;
  if (status.is_ok()) status = read_or_zeros(call, 3, state_dims, "past_state", &states);
  if (!status.is_ok()) return status;
  r.query = read_doubles(call.input(0));
  r.key = read_doubles(call.input(1));
  r.value = read_doubles(call.input(2));
  Doubles output(index(r.batch * r.length * r.q_heads * r.value_size));
  const std::int64_t size = r.key_size * r.value_size;
  for (std::int64_t row = 0; row < r.batch * r.kv_heads; ++row) {
    Doubles state(states.begin() + row * size, states.begin() + (row + 1) * size);
    for (std::int64_t t = 0; t < r.length && size > 0; ++t) {
      const std::int64_t place = row / r.kv_heads * r.length + t;
      update_state(r, place, row % r.kv_heads, state);
      read_state(r, place, row % r.kv_heads, state, output);
    }
    std::ranges::copy(state, states.begin() + row * size);
  }
  status = write_doubles(call, 0, output);
  return status.is_ok() ? write_if_there(call, 1, states) : status;
}

}  // namespace

std::vector<KernelEntry> causal_kernels() {
  return {{.kind = "CausalConvWithState",
           .run = run_causal_conv,
           .check = check_floats,
           .num_required_inputs = 2},
          {.kind = "LinearAttention",
           .run = run_linear_attention,
           .check = check_floats,
           .num_required_inputs = 3}};
}

}  // namespace sluice::reference
