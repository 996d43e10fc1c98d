// RNN, GRU, LSTM.
#include <cmath>

#include "reference/families.h"
#include "reference/kernels/sequence/activation.h"
#include "reference/kernels/support.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

using Doubles = std::vector<double>;

/// Everything of one operation. Sizes: steps, batch, inputs, hidden, directions, gates.
struct Network {
  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 1, gates = 1;
  bool is_batch_first = false, is_reverse = false;
  Doubles x, w, r, bias, peephole;
  std::vector<std::int64_t> lengths;
  std::vector<Activation> activations;  ///< a cell's, for each direction
  double clip = 0;                      ///< 0 for none

  std::size_t x_at(std::int64_t step, std::int64_t b) const {
    return index((is_batch_first ? b * steps + step : step * batch + b) * inputs);
  }
  std::size_t y_at(std::int64_t step, std::int64_t d, std::int64_t b) const {
    return index((is_batch_first ? (b * steps + step) * directions + d
                                 : (step * directions + d) * batch + b) *
                 hidden);
  }
  std::size_t state_at(std::int64_t d, std::int64_t b) const {
    return index((is_batch_first ? b * directions + d : d * batch + b) * hidden);
  }
};

/// One direction's state of one batch element, and the cell's working memory.
struct Cell {
  const Network& network;
  std::int64_t direction;
  Doubles h, c;

  /// Row `row` (gate * hidden + unit) of W times x, and of R times `state`.
  double input_part(std::int64_t row, std::size_t x) const {
    const double* w = network.w.data() + (direction * rows() + row) * network.inputs;
    double sum = 0;
    for (std::int64_t i = 0; i < network.inputs; ++i) sum += w[i] * network.x[x + index(i)];
    return sum;
  }
  double state_part(std::int64_t row, const Doubles& state) const {
    const double* r = network.r.data() + (direction * rows() + row) * network.hidden;
    double sum = 0;
    for (std::int64_t i = 0; i < network.hidden; ++i) sum += r[i] * state[index(i)];
    return sum;
  }
  /// Bias of W, or with `is_recurrent` of R.
  double bias(std::int64_t row, bool is_recurrent) const {
    if (network.bias.empty()) return 0;
    return network.bias[index((direction * 2 + (is_recurrent ? 1 : 0)) * rows() + row)];
  }
  double gate(std::int64_t which, std::int64_t unit, std::size_t x) const {
    const std::int64_t row = which * network.hidden + unit;
    return input_part(row, x) + state_part(row, h) + bias(row, false) + bias(row, true);
  }
  double peephole(std::int64_t which, std::int64_t unit, double state) const {
    if (network.peephole.empty()) return 0;
    return network.peephole[index((direction * 3 + which) * network.hidden + unit)] * state;
  }
  double activate(std::size_t which, double value) const {
    const double limit = network.clip;
    if (limit > 0) value = std::min(std::max(value, -limit), limit);
    const std::size_t per_cell = network.activations.size() / index(network.directions);
    return network.activations[index(direction) * per_cell + which](value);
  }
  std::int64_t rows() const { return network.gates * network.hidden; }
};

void step_rnn(const Call& /*call*/, Cell& cell, std::size_t x) {
  Doubles next(cell.h.size());
  for (std::size_t u = 0; u < next.size(); ++u) {
    next[u] = cell.activate(0, cell.gate(0, static_cast<std::int64_t>(u), x));
  }
  cell.h = std::move(next);
}

/// Gates z, r, h.
void step_gru(const Call& call, Cell& cell, std::size_t x) {
  const bool is_linear_first = call.attributes().get_int("linear_before_reset") != 0;
  const std::size_t hidden = cell.h.size();
  const auto units = static_cast<std::int64_t>(hidden);
  Doubles update(hidden), reset(hidden), masked(hidden), next(hidden);
  // All resets first, because the product of each candidate reads the whole masked state.
  for (std::int64_t u = 0; u < units; ++u) {
    update[index(u)] = cell.activate(0, cell.gate(0, u, x));
    reset[index(u)] = cell.activate(0, cell.gate(1, u, x));
    masked[index(u)] = reset[index(u)] * cell.h[index(u)];
  }
  for (std::int64_t u = 0; u < units; ++u) {
    const std::int64_t row = 2 * units + u;
    const double from_state =
        is_linear_first ? reset[index(u)] * (cell.state_part(row, cell.h) + cell.bias(row, true))
                        : cell.state_part(row, masked) + cell.bias(row, true);
    const double candidate =
        cell.activate(1, cell.input_part(row, x) + from_state + cell.bias(row, false));
    next[index(u)] = (1 - update[index(u)]) * candidate + update[index(u)] * cell.h[index(u)];
  }
  cell.h = std::move(next);
}

/// Gates i, o, f, c; peepholes i, o, f.
void step_lstm(const Call& call, Cell& cell, std::size_t x) {
  const bool is_coupled = call.attributes().get_int("input_forget") != 0;
  Doubles next(cell.h.size());
  for (std::int64_t u = 0; u < cell.network.hidden; ++u) {
    double& state = cell.c[index(u)];
    const double input = cell.activate(0, cell.gate(0, u, x) + cell.peephole(0, u, state));
    const double forget =
        is_coupled ? 1 - input : cell.activate(0, cell.gate(2, u, x) + cell.peephole(2, u, state));
    state = forget * state + input * cell.activate(1, cell.gate(3, u, x));
    // The output gate's peephole sees the new state, the other two the old one.
    const double output = cell.activate(0, cell.gate(1, u, x) + cell.peephole(1, u, state));
    next[index(u)] = output * cell.activate(2, state);
  }
  cell.h = std::move(next);
}

/// An optional input of `count` elements; empty if absent.
Status read_optional(const Call& call, int input, std::int64_t count, Doubles* values) {
  if (!call.has_input(input)) return plugin::ok();
  *values = read_doubles(call.input(input));
  if (static_cast<std::int64_t>(values->size()) == count) return plugin::ok();
  return refuse(call, "input " + std::to_string(input) + " has " + std::to_string(values->size()) +
                          " elements; expected " + std::to_string(count));
}

Status read_lengths(const Call& call, Network* network) {
  network->lengths.assign(index(network->batch), network->steps);
  if (!call.has_input(4)) return plugin::ok();
  network->lengths = read_ints(call.input(4));
  if (network->lengths.size() != index(network->batch)) {
    return refuse(call, "sequence_lens do not fit X");
  }
  for (const std::int64_t length : network->lengths) {
    if (length < 0 || length > network->steps) {
      return length_outside(call.op(), length, network->steps);
    }
  }
  return plugin::ok();
}

Status read_sizes(const Call& call, std::int64_t gates, Network* network) {
  const plugin::Attributes attributes = call.attributes();
  const std::string_view direction = attributes.get_text("direction", "forward");
  network->is_batch_first = attributes.get_int("layout") != 0;
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return refuse_model(call, "direction \"" + std::string(direction) +
                                  "\"; expected forward, reverse or bidirectional");
  }
  network->directions = direction == "bidirectional" ? 2 : 1;
  network->is_reverse = direction == "reverse";
  network->gates = gates;
  network->clip = attributes.get_float("clip");
  const Dims x = input_dims(call, 0);
  const Dims r = input_dims(call, 2);
  if (x.size() != 3 || r.size() != 3) return refuse(call, "X and R must have rank 3");
  network->steps = x[network->is_batch_first ? 1 : 0];
  network->batch = x[network->is_batch_first ? 0 : 1];
  network->inputs = x[2];
  network->hidden = r[2];
  const std::array w_dims = {network->directions, gates * network->hidden, network->inputs};
  const std::array r_dims = {network->directions, gates * network->hidden, network->hidden};
  Status status = check_dims(call, call.input(1), w_dims, "W");
  if (status.is_ok()) status = check_dims(call, call.input(2), r_dims, "R");
  return status;
}

Status read_network(const Call& call, std::int64_t gates, Network* network) {
  Status status = read_sizes(call, gates, network);
  if (!status.is_ok()) return status;
  network->x = read_doubles(call.input(0));
  network->w = read_doubles(call.input(1));
  network->r = read_doubles(call.input(2));
  const bool has_types = network->x.size() == index(plugin::num_elements(call.input(0))) &&
                         network->w.size() == index(plugin::num_elements(call.input(1))) &&
                         network->r.size() == index(plugin::num_elements(call.input(2)));
  if (!has_types) return refuse_model(call, "unknown element type");
  const std::int64_t units = network->directions * network->hidden;
  status = read_optional(call, 3, units * gates * 2, &network->bias);
  if (status.is_ok() && gates == 4) status = read_optional(call, 7, units * 3, &network->peephole);
  if (status.is_ok()) status = read_lengths(call, network);
  return status;
}

using Step = void (*)(const Call& call, Cell& cell, std::size_t x);

Status run_network(const Call& call, std::int64_t gates,
                   const std::vector<std::string_view>& defaults, Step step) {
  Network network;
  Status status = read_network(call, gates, &network);
  if (status.is_ok()) {
    status = read_activations(call, defaults, network.directions, &network.activations);
  }
  const std::int64_t state_size = network.directions * network.batch * network.hidden;
  Doubles first_h, first_c;
  if (status.is_ok()) status = read_optional(call, 5, state_size, &first_h);
  if (status.is_ok() && gates == 4) status = read_optional(call, 6, state_size, &first_c);
  if (!status.is_ok()) return status;
  first_h.resize(index(state_size), 0.0);
  first_c.resize(index(state_size), 0.0);
  Doubles y(index(network.steps * state_size), 0.0);
  for (std::int64_t d = 0; d < network.directions; ++d) {
    for (std::int64_t b = 0; b < network.batch; ++b) {
      const auto at = static_cast<std::ptrdiff_t>(network.state_at(d, b));
      Cell cell = {network, d, Doubles(first_h.begin() + at, first_h.begin() + at + network.hidden),
                   Doubles(first_c.begin() + at, first_c.begin() + at + network.hidden)};
      const std::int64_t length = network.lengths[index(b)];
      for (std::int64_t t = 0; t < length; ++t) {
        // A reversed sequence starts at its own last step, not at the end of the padding.
        const std::int64_t time = network.is_reverse || d == 1 ? length - 1 - t : t;
        step(call, cell, network.x_at(time, b));
        std::ranges::copy(cell.h,
                          y.begin() + static_cast<std::ptrdiff_t>(network.y_at(time, d, b)));
      }
      std::ranges::copy(cell.h, first_h.begin() + at);
      std::ranges::copy(cell.c, first_c.begin() + at);
    }
  }
  if (call.has_output(0)) status = write_doubles(call, 0, y);
  if (status.is_ok() && call.has_output(1)) status = write_doubles(call, 1, first_h);
  if (status.is_ok() && call.has_output(2)) status = write_doubles(call, 2, first_c);
  return status;
}

Status run_rnn(const Call& call) { return run_network(call, 1, {"Tanh"}, step_rnn); }
Status run_gru(const Call& call) { return run_network(call, 3, {"Sigmoid", "Tanh"}, step_gru); }
Status run_lstm(const Call& call) {
  return run_network(call, 4, {"Sigmoid", "Tanh", "Tanh"}, step_lstm);
}

}  // namespace

std::vector<KernelEntry> recurrent_kernels() {
  return {{.kind = "RNN", .run = run_rnn},
          {.kind = "GRU", .run = run_gru},
          {.kind = "LSTM", .run = run_lstm}};
}

}  // namespace sluice::reference
