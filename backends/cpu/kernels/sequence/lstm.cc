#include "kernels/sequence/lstm.h"

#include "kernels/matrix/gemm.h"
#include "kernels/matrix/gemm_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

constexpr std::int64_t kWidth = kLstmGates * kLanes;
constexpr int kMaxRows = kVectorRegisters == 32 ? 6 : 2;
constexpr int kMaxByteRows = 6;             ///< of all sets of byte tiles
constexpr std::int64_t kPanelEndBytes = 8;  ///< of a column: its scale and its correction

/// What the memory that all workers share holds, in floats.
struct SharedSizes {
  explicit SharedSizes(const LstmPlan& plan)
      : padded((plan.hidden + kLanes - 1) / kLanes * kLanes),
        gate_row(padded * kLstmGates),
        gate_floats(plan.directions * plan.steps * plan.batch * gate_row),
        state(plan.directions * plan.batch * padded) {}

  std::int64_t padded;
  std::int64_t gate_row;
  std::int64_t gate_floats;
  std::int64_t state;  ///< of one state

  std::int64_t floats() const { return gate_floats + 3 * state; }
};

/// That memory: gates from the inputs, and the state of now and of the next step.
struct Shared : SharedSizes {
  Shared(const LstmPlan& plan, float* base)
      : SharedSizes(plan), gates(base), c(gates + gate_floats), h(c + state) {}

  float* gates;  ///< [directions][steps][batch][gate_row]
  float* c;      ///< [directions][batch][padded]
  float* h;      ///< [2][directions][batch][padded]
};

/// Hidden states of a direction in 8 bits, of the batch items from a first one on.
struct RoundedStates {
  const float* scales = nullptr;
  const std::uint8_t* bytes = nullptr;
  std::int64_t row_bytes = 0;
};

/// A vector of units of up to kMaxRows batch items, or of as many as a tile of bytes has rows.
struct UnitBlock {
  const float* gates;  ///< from the inputs
  std::int64_t gate_row;
  const float* h;
  std::int64_t h_row;
  const float* r;
  const std::uint8_t* narrow = nullptr;  ///< of the panels of `r`, if those are of bytes
  std::int64_t depth;
  float* c;
  float* next_h;
  float* y;  ///< results may be null
  float* last_h;
  float* last_c;
  std::int64_t result_row;
  int lanes;
};

/// From the products of the hidden states to the next ones.
template <int kRows>
SLUICE_CPU_INLINE void finish_units(const UnitBlock& u, Vec (&acc)[kRows][kLstmGates]) {
  SLUICE_CPU_UNROLL
  for (int i = 0; i < kRows; ++i) {
    SLUICE_CPU_UNROLL
    for (int g = 0; g < kLstmGates; ++g) acc[i][g] += load(u.gates + i * u.gate_row + g * kLanes);
  }
  SLUICE_CPU_UNROLL
  for (int i = 0; i < kRows; ++i) {
    float* c = u.c + i * u.h_row;
    const Vec cell = fmadd(sigmoid(acc[i][2]), load(c), sigmoid(acc[i][0]) * tanh(acc[i][3]));
    const Vec hidden = sigmoid(acc[i][1]) * tanh(cell);
    store(c, cell);
    store(u.next_h + i * u.h_row, hidden);
    const std::int64_t at = i * u.result_row;
    if (u.y != nullptr) store_first(u.y + at, hidden, u.lanes);
    if (u.last_h != nullptr) store_first(u.last_h + at, hidden, u.lanes);
    if (u.last_c != nullptr) store_first(u.last_c + at, cell, u.lanes);
  }
}

template <int kRows>
void run_units(const UnitBlock& u) {
  // Adds the inputs' contribution last, so that its loads from memory have time.
  Vec acc[kRows][kLstmGates] = {};
  SLUICE_CPU_UNROLL
  for (int i = 0; i < kRows; ++i) {
    SLUICE_CPU_UNROLL
    for (int g = 0; g < kLstmGates; ++g) prefetch(u.gates + i * u.gate_row + g * kLanes);
  }
  TileArgs args{};
  args.depth = u.depth;
  args.a = u.h;
  args.a_row = u.h_row;
  args.a_step = 1;
  args.b = u.r;
  args.b_row = kWidth;
  sweep<kRows, kLstmGates, false>(args, acc);
  finish_units(u, acc);
}

void run_rows(const UnitBlock& u, std::int64_t rows) {
  if constexpr (kMaxRows == 6) {
    if (rows == 6) return run_units<6>(u);
    if (rows == 5) return run_units<5>(u);
    if (rows == 4) return run_units<4>(u);
    if (rows == 3) return run_units<3>(u);
  }
  rows == 2 ? run_units<2>(u) : run_units<1>(u);
}

/// The same with products in 8 bits: a vector of units has as many columns as one or two panels.
void run_byte_rows(const ByteTileSet& tiles, const RoundedStates& states, const UnitBlock& u,
                   std::int64_t rows) {
  alignas(64) float sums[kMaxByteRows * kWidth];
  ByteTile tile;
  tile.a = states.bytes;
  tile.a_row = states.row_bytes;
  tile.groups = states.row_bytes / kByteGroup;
  tile.row_scales = states.scales;
  tile.c_row = kWidth;
  tile.columns = tiles.width;
  const auto* panel = reinterpret_cast<const std::int8_t*>(u.r);
  const std::uint8_t* is_narrow = u.narrow;
  for (std::int64_t column = 0; column < kWidth; column += tiles.width) {
    tile.b = panel;
    tile.column_scales = reinterpret_cast<const float*>(panel + tiles.width * states.row_bytes);
    tile.corrections = reinterpret_cast<const std::int32_t*>(tile.column_scales + tiles.width);
    tile.c = sums + column;
    tiles.find(static_cast<int>(rows), tiles.width, *is_narrow++ != 0)(tile);
    panel += tiles.width * (states.row_bytes + kPanelEndBytes);
  }
  UnitBlock one = u;
  for (std::int64_t i = 0; i < rows; ++i) {
    Vec acc[1][kLstmGates];
    SLUICE_CPU_UNROLL
    for (int g = 0; g < kLstmGates; ++g) acc[0][g] = load(sums + i * kWidth + g * kLanes);
    finish_units(one, acc);
    one.gates += u.gate_row;
    one.c += u.h_row;
    one.next_h += u.h_row;
    if (u.y != nullptr) one.y += u.result_row;
    if (u.last_h != nullptr) one.last_h += u.result_row;
    if (u.last_c != nullptr) one.last_c += u.result_row;
  }
}

/// Rounds what a direction has of hidden states into a worker's scratch.
RoundedStates round_states(const LstmPlan& plan, const Shared& shared, std::int64_t direction,
                           std::int64_t step, std::byte* scratch) {
  const std::int64_t row_bytes = plan.rounded_row();
  auto* scales = reinterpret_cast<float*>(scratch);
  auto* bytes = reinterpret_cast<std::uint8_t*>(scales + plan.batch);
  const float* h = shared.h + step % 2 * shared.state + direction * plan.batch * shared.padded;
  for (std::int64_t i = 0; i < plan.batch; ++i) {
    round_row(h + i * shared.padded, plan.hidden, row_bytes, bytes + i * row_bytes, scales + i);
  }
  return {scales, bytes, row_bytes};
}

void multiply_inputs(const LstmPlan& plan, const LstmArgs& args, const Shared& shared,
                     const Worker& worker) {
  GemmPlan gemm;
  gemm.m = plan.steps * plan.batch;
  gemm.n = shared.gate_row;
  gemm.k = plan.inputs;
  gemm.a_row = plan.inputs;
  gemm.c_row = shared.gate_row;
  for (std::int64_t d = 0; d < plan.directions; ++d) {
    GemmArgs operands;
    operands.a = args.x;
    operands.b = args.w + d * packed_lstm_w_floats(plan.inputs, plan.hidden);
    operands.c = shared.gates + d * gemm.m * gemm.n;
    operands.bias = args.bias + d * packed_lstm_bias_floats(plan.hidden);
    run_gemm(gemm, operands, worker);
  }
}

/// One state from the caller's array, or zeros; the padding is zero either way.
void fill_state(const LstmPlan& plan, const Shared& shared, const float* from, float* state) {
  for (std::int64_t row = 0; row < plan.directions * plan.batch; ++row) {
    for (std::int64_t u = 0; u < shared.padded; ++u) {
      const bool some = from != nullptr && u < plan.hidden;
      state[row * shared.padded + u] = some ? from[row * plan.hidden + u] : 0;
    }
  }
}

/// `states`: of the direction, where products are in 8 bits.
void run_block(const LstmPlan& plan, const LstmArgs& args, const Shared& shared,
               const RoundedStates& states, std::int64_t direction, std::int64_t block,
               std::int64_t step) {
  const std::int64_t time = plan.is_reverse(direction) ? plan.steps - 1 - step : step;
  const bool last = step + 1 == plan.steps;
  const std::int64_t unit = block * kLanes;
  const std::int64_t left = plan.hidden - unit;
  const std::int64_t blocks = shared.padded / kLanes;
  const std::int64_t r_block = args.tiles == nullptr
                                   ? kWidth * plan.hidden
                                   : kWidth * (plan.rounded_row() + kPanelEndBytes) / 4;
  // About equally many rows each: few would only wait for the weights.
  const std::int64_t most = args.tiles == nullptr ? kMaxRows : args.tiles->rows;
  const bool is_one = plan.batch <= most;  // divisions would take as long as a block's gates
  const std::int64_t tiles = is_one ? 1 : (plan.batch + most - 1) / most;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const std::int64_t row = is_one ? 0 : plan.batch * tile / tiles;
    const std::int64_t rows = is_one ? plan.batch : plan.batch * (tile + 1) / tiles - row;
    const std::int64_t state_row = (direction * plan.batch + row) * shared.padded;
    const std::int64_t result = (direction * plan.batch + row) * plan.hidden + unit;
    UnitBlock u;
    u.gates = shared.gates +
              ((direction * plan.steps + time) * plan.batch + row) * shared.gate_row +
              block * kWidth;
    u.gate_row = shared.gate_row;
    u.h = shared.h + step % 2 * shared.state + state_row;
    u.h_row = shared.padded;
    u.r = args.r + (direction * blocks + block) * r_block;
    u.depth = plan.hidden;
    if (args.tiles != nullptr) {
      u.narrow = args.narrow + (direction * blocks + block) * (kWidth / args.tiles->width);
    }
    u.c = shared.c + state_row + unit;
    u.next_h = shared.h + (step + 1) % 2 * shared.state + state_row + unit;
    u.y = args.y == nullptr ? nullptr
                            : args.y + time * plan.directions * plan.batch * plan.hidden + result;
    u.last_h = last && args.last_h != nullptr ? args.last_h + result : nullptr;
    u.last_c = last && args.last_c != nullptr ? args.last_c + result : nullptr;
    u.result_row = plan.hidden;
    u.lanes = static_cast<int>(left < kLanes ? left : kLanes);
    if (args.tiles == nullptr) {
      run_rows(u, rows);
      continue;
    }
    const RoundedStates own = {states.scales + row, states.bytes + row * states.row_bytes,
                               states.row_bytes};
    run_byte_rows(*args.tiles, own, u, rows);
  }
}

}  // namespace

std::int64_t lstm_shared_floats(const LstmPlan& plan) { return SharedSizes(plan).floats(); }

float* lstm_gates(const LstmPlan& plan, float* shared, std::int64_t direction) {
  const Shared all(plan, shared);
  return all.gates + direction * (all.gate_floats / plan.directions);
}

void run_lstm(const LstmPlan& plan, const LstmArgs& args, int phase, const Worker& worker) {
  const Shared shared(plan, args.shared);
  if (phase == 0) {
    if (args.tiles == nullptr) multiply_inputs(plan, args, shared, worker);
    if (worker.index == 0) {
      fill_state(plan, shared, args.initial_h, shared.h);
      fill_state(plan, shared, args.initial_c, shared.c);
    }
    return;
  }
  const std::int64_t step = phase - 1;
  const std::int64_t blocks = shared.padded / kLanes;
  const Share share = share_of(plan.directions * blocks, 1, worker);
  const std::int64_t count = share.end - share.begin;
  RoundedStates states;
  std::int64_t rounded = -1;  // the direction of `states`
  for (std::int64_t i = 0; i < count; ++i) {
    // There and back again: the weights used last are still near when the next step begins.
    const std::int64_t at = step % 2 == 0 ? share.begin + i : share.end - 1 - i;
    const std::int64_t direction = at >= blocks ? 1 : 0;
    if (args.tiles != nullptr && direction != rounded) {
      states = round_states(plan, shared, direction, step, worker.scratch);
      rounded = direction;
    }
    run_block(plan, args, shared, states, direction, at - direction * blocks, step);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
