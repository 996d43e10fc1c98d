#include "kernels/sequence/gru.h"

#include "kernels/matrix/gemm.h"
#include "kernels/matrix/gemm_tile.h"
#include "kernels/sequence/gru_panels.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

constexpr int kMaxRows = kVectorRegisters == 32 ? 3 : 2;

/// What the memory that all workers share holds, in floats.
struct SharedSizes {
  explicit SharedSizes(const GruPlan& plan)
      : padded(padded_units(plan)),
        gate_row(padded * plan.gates),
        gate_floats(plan.directions * plan.steps * plan.batch * gate_row),
        state(plan.directions * plan.batch * padded) {}

  std::int64_t padded;
  std::int64_t gate_row;
  std::int64_t gate_floats;
  std::int64_t state;

  std::int64_t floats() const { return gate_floats + 4 * state; }
};

struct Shared : SharedSizes {
  Shared(const GruPlan& plan, float* base)
      : SharedSizes(plan),
        gates(base),
        h(gates + gate_floats),
        masked(h + 2 * state),
        update(masked + state) {}

  float* gates;   ///< from the inputs: [directions][rows of x][gate_row]
  float* h;       ///< of now and of the next step: [2][directions][batch][padded]
  float* masked;  ///< reset * h, between the two phases of a step
  float* update;  ///< likewise
};

/// What finishes a vector of units of one batch item.
struct Cell {
  const float* gates;   ///< from the inputs, at the first unit
  const float* bias;    ///< of R's candidate, at the first unit
  std::int64_t padded;  ///< from a gate to the next
  const float* h;
  float* masked;
  float* update;
  float* next_h;
  float* y;  ///< results may be null
  float* last_h;
  bool is_over;  ///< the item has no such step: its state stays, and y is zero
};

/// A block of units of up to kMaxRows batch items.
struct Block {
  TileArgs tile{};
  Cell cells[kMaxRows];
  std::int64_t unit = 0;
  std::int64_t hidden = 0;
  RnnActivation activation = RnnActivation::kTanh;
};

SLUICE_CPU_INLINE void put_state(const Cell& cell, std::int64_t at, std::int64_t left, Vec hidden) {
  if (cell.is_over) hidden = load(cell.h + at);
  store(cell.next_h + at, hidden);
  if (left <= 0) return;
  const int lanes = static_cast<int>(left < kLanes ? left : kLanes);
  if (cell.y != nullptr) store_first(cell.y + at, cell.is_over ? Vec{} : hidden, lanes);
  if (cell.last_h != nullptr) store_first(cell.last_h + at, hidden, lanes);
}

SLUICE_CPU_INLINE Vec mixed(Vec update, Vec candidate, Vec h) {
  return fmadd(update, h - candidate, candidate);
}

SLUICE_CPU_INLINE Vec activated(RnnActivation activation, Vec x) {
  if (activation == RnnActivation::kRelu) return max(Vec{}, x);
  return activation == RnnActivation::kSigmoid ? sigmoid(x) : tanh(x);
}

/// A GRU of which reset multiplies h R.
struct Linear {
  static constexpr int kGates = 3;
  static constexpr int kUnits = kLinearUnits;
  SLUICE_CPU_INLINE void finish(const Block& b, const Cell& c, const Vec* sums, int unit) {
    const std::int64_t at = unit * kLanes;
    const float* gates = c.gates + at;
    const Vec update = sigmoid(sums[unit] + load(gates));
    const Vec reset = sigmoid(sums[kUnits + unit] + load(gates + c.padded));
    const Vec state = sums[2 * kUnits + unit] + load(c.bias + at);
    const Vec candidate = tanh(fmadd(reset, state, load(gates + 2 * c.padded)));
    put_state(c, at, b.hidden - b.unit - at, mixed(update, candidate, load(c.h + at)));
  }
};

/// Update and reset of other GRUs.
struct Gates {
  static constexpr int kGates = 2;
  static constexpr int kUnits = kPairUnits;
  SLUICE_CPU_INLINE void finish(const Block&, const Cell& c, const Vec* sums, int unit) {
    const std::int64_t at = unit * kLanes;
    store(c.update + at, sigmoid(sums[unit] + load(c.gates + at)));
    const Vec reset = sigmoid(sums[kUnits + unit] + load(c.gates + c.padded + at));
    store(c.masked + at, reset * load(c.h + at));
  }
};

/// Their candidates, from masked states.
struct Candidate {
  static constexpr int kGates = 1;
  static constexpr int kUnits = kSingleUnits;
  SLUICE_CPU_INLINE void finish(const Block& b, const Cell& c, const Vec* sums, int unit) {
    const std::int64_t at = unit * kLanes;
    const Vec candidate = tanh(sums[unit] + load(c.gates + 2 * c.padded + at));
    const Vec update = load(c.update + at);
    put_state(c, at, b.hidden - b.unit - at, mixed(update, candidate, load(c.h + at)));
  }
};

/// An RNN.
struct Plain {
  static constexpr int kGates = 1;
  static constexpr int kUnits = kSingleUnits;
  SLUICE_CPU_INLINE void finish(const Block& b, const Cell& c, const Vec* sums, int unit) {
    const std::int64_t at = unit * kLanes;
    put_state(c, at, b.hidden - b.unit - at,
              activated(b.activation, sums[unit] + load(c.gates + at)));
  }
};

template <typename Kind, int kRows>
void run_tile(const Block& block) {
  constexpr int kVectors = Kind::kGates * Kind::kUnits;
  Vec acc[kRows][kVectors] = {};
  sweep<kRows, kVectors, false>(block.tile, acc);
  SLUICE_CPU_UNROLL
  for (int i = 0; i < kRows; ++i) {
    SLUICE_CPU_UNROLL
    for (int u = 0; u < Kind::kUnits; ++u) Kind::finish(block, block.cells[i], acc[i], u);
  }
}

template <typename Kind>
void run_rows(const Block& block, std::int64_t rows) {
  if constexpr (kMaxRows == 3) {
    if (rows == 3) return run_tile<Kind, 3>(block);
  }
  rows == 2 ? run_tile<Kind, 2>(block) : run_tile<Kind, 1>(block);
}

/// Where a batch item is in a step of the recurrence.
struct Place {
  std::int64_t time;
  bool is_over;
  bool is_last;
};

Place place_of(const GruPlan& plan, const GruArgs& args, std::int64_t direction, std::int64_t item,
               std::int64_t step) {
  std::int64_t length = args.lengths == nullptr ? plan.steps : args.lengths[item];
  length = length < 0 ? 0 : length > plan.steps ? plan.steps : length;
  const bool is_over = step >= length;
  const bool is_back = plan.is_reverse(direction) && !is_over;
  return {is_back ? length - 1 - step : step, is_over, step + 1 == plan.steps};
}

/// Everything of one step and direction that its blocks share.
struct Step {
  const GruPlan& plan;
  const GruArgs& args;
  const Shared& shared;
  std::int64_t direction;
  std::int64_t step;

  Cell cell(std::int64_t item, std::int64_t unit) const {
    const Place place = place_of(plan, args, direction, item, step);
    const bool by_item = plan.is_batch_first;
    const std::int64_t row =
        by_item ? item * plan.steps + place.time : place.time * plan.batch + item;
    const std::int64_t all_rows = plan.steps * plan.batch;
    const std::int64_t state = (direction * plan.batch + item) * shared.padded + unit;
    const std::int64_t y_row = by_item
                                   ? row * plan.directions + direction
                                   : (place.time * plan.directions + direction) * plan.batch + item;
    const std::int64_t h_row =
        by_item ? item * plan.directions + direction : direction * plan.batch + item;
    Cell cell;
    cell.gates = shared.gates + (direction * all_rows + row) * shared.gate_row + unit;
    cell.bias = args.bias + (direction * (plan.gates + 1) + plan.gates) * shared.padded + unit;
    cell.padded = shared.padded;
    cell.h = shared.h + step % 2 * shared.state + state;
    cell.masked = shared.masked + state;
    cell.update = shared.update + state;
    cell.next_h = shared.h + (step + 1) % 2 * shared.state + state;
    cell.y = args.y == nullptr ? nullptr : args.y + y_row * plan.hidden + unit;
    const bool is_told = place.is_last && args.last_h != nullptr;
    cell.last_h = is_told ? args.last_h + h_row * plan.hidden + unit : nullptr;
    cell.is_over = place.is_over;
    return cell;
  }
};

/// `r`: the panels of Kind's gates; `state`: what they multiply, [batch][padded].
template <typename Kind>
void run_block(const Step& step, const float* r, const float* state, std::int64_t index) {
  const GruPlan& plan = step.plan;
  constexpr std::int64_t kWidth = Kind::kGates * Kind::kUnits * kLanes;
  Block block;
  block.unit = index * Kind::kUnits * kLanes;
  block.hidden = plan.hidden;
  block.activation = plan.activation[step.direction];
  block.tile.depth = plan.hidden;
  block.tile.a_row = step.shared.padded;
  block.tile.a_step = 1;
  block.tile.b = r + index * kWidth * plan.hidden;
  block.tile.b_row = kWidth;
  const std::int64_t tiles = (plan.batch + kMaxRows - 1) / kMaxRows;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const std::int64_t first = plan.batch * tile / tiles;
    const std::int64_t rows = plan.batch * (tile + 1) / tiles - first;
    for (std::int64_t i = 0; i < rows; ++i) block.cells[i] = step.cell(first + i, block.unit);
    block.tile.a = state + first * step.shared.padded;
    run_rows<Kind>(block, rows);
  }
}

/// `gate`: the first gate of Kind, which tells where its panels are.
template <typename Kind>
void run_kind(const GruPlan& plan, const GruArgs& args, const Shared& shared, std::int64_t number,
              std::int64_t gate, const Worker& worker) {
  const std::int64_t blocks = shared.padded / (Kind::kUnits * kLanes);
  const Share share = share_of(plan.directions * blocks, 1, worker);
  const float* states = gate == 2 ? shared.masked : shared.h + number % 2 * shared.state;
  const std::int64_t count = share.end - share.begin;
  for (std::int64_t i = 0; i < count; ++i) {
    // There and back again: the weights used last are still near when the next step begins.
    const std::int64_t at = number % 2 == 0 ? share.begin + i : share.end - 1 - i;
    const std::int64_t direction = at / blocks;
    const Step step = {plan, args, shared, direction, number};
    run_block<Kind>(
        step, args.r + direction * packed_gru_r_floats(plan) + gate * shared.padded * plan.hidden,
        states + direction * plan.batch * shared.padded, at % blocks);
  }
}

void multiply_inputs(const GruPlan& plan, const GruArgs& args, const Shared& shared,
                     const Worker& worker) {
  GemmPlan gemm = GemmPlan::of(plan.steps * plan.batch, shared.gate_row, plan.inputs);
  for (std::int64_t d = 0; d < plan.directions; ++d) {
    GemmArgs operands;
    operands.a = args.x;
    operands.b = args.w + d * packed_gru_w_floats(plan);
    operands.c = shared.gates + d * gemm.m * gemm.n;
    operands.bias = args.bias + d * packed_gru_bias_floats(plan);
    run_gemm(gemm, operands, worker);
  }
}

/// The first state from the caller's array, or zeros; the padding is zero either way.
void fill_state(const GruPlan& plan, const GruArgs& args, const Shared& shared) {
  for (std::int64_t d = 0; d < plan.directions; ++d) {
    for (std::int64_t item = 0; item < plan.batch; ++item) {
      const std::int64_t from =
          plan.is_batch_first ? item * plan.directions + d : d * plan.batch + item;
      float* to = shared.h + (d * plan.batch + item) * shared.padded;
      for (std::int64_t u = 0; u < shared.padded; ++u) {
        const bool some = args.initial_h != nullptr && u < plan.hidden;
        to[u] = some ? args.initial_h[from * plan.hidden + u] : 0;
      }
    }
  }
}

}  // namespace

std::int64_t gru_shared_floats(const GruPlan& plan) { return SharedSizes(plan).floats(); }

void run_gru(const GruPlan& plan, const GruArgs& args, int phase, const Worker& worker) {
  const Shared shared(plan, args.shared);
  if (phase == 0) {
    multiply_inputs(plan, args, shared, worker);
    if (worker.index == 0) fill_state(plan, args, shared);
    return;
  }
  const std::int64_t step = (phase - 1) / plan.step_phases();
  if (plan.gates == 1) return run_kind<Plain>(plan, args, shared, step, 0, worker);
  if (plan.is_linear_first) return run_kind<Linear>(plan, args, shared, step, 0, worker);
  if (phase % 2 == 1) return run_kind<Gates>(plan, args, shared, step, 0, worker);
  run_kind<Candidate>(plan, args, shared, step, 2, worker);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
