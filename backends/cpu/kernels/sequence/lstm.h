#pragma once

#include <cstdint>

#include "core/isa.h"
#include "core/worker.h"
#include "kernels/bytes/byte_product.h"

namespace sluice::cpu {

inline constexpr int kLstmGates = 4;  ///< in ONNX's order: input, output, forget, cell

/// An LSTM over a dense sequence [steps][batch][inputs], in one or both directions:
///   i, o, f = sigmoid(x W + h R + b), g = tanh(...), c' = f c + i g, h' = o tanh(c').
///
/// Phase 0 multiplies all inputs by W in one product; each further phase is one time step, its
/// hidden units divided among the workers.
struct LstmPlan {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t hidden = 0;
  std::int64_t directions = 1;
  bool reverse = false;  ///< the only direction runs backwards; with two, the second does

  int phases() const { return static_cast<int>(steps) + 1; }
  /// Bytes of a hidden state in 8 bits.
  std::int64_t rounded_row() const { return (hidden + kByteGroup - 1) / kByteGroup * kByteGroup; }
  /// Scratch of each worker for products in 8 bits: the hidden states of a direction and their
  /// scales.
  std::int64_t scratch_bytes() const {
    return batch * (rounded_row() + static_cast<std::int64_t>(sizeof(float)));
  }
  bool is_reverse(std::int64_t direction) const {
    return directions == 2 ? direction == 1 : reverse;
  }
};

/// Packed operands hold one direction after the other; initial states and last states are
/// [directions][batch][hidden], `y` is [steps][directions][batch][hidden].
struct LstmArgs {
  const float* x = nullptr;
  const float* w = nullptr;          ///< by pack_lstm_w
  const float* r = nullptr;          ///< by pack_lstm_r
  const float* bias = nullptr;       ///< by pack_lstm_bias
  const float* initial_h = nullptr;  ///< null: zeros
  const float* initial_c = nullptr;
  float* y = nullptr;  ///< each result may be null
  float* last_h = nullptr;
  float* last_c = nullptr;
  float* shared = nullptr;  ///< lstm_shared_floats, of all workers
  /// Null: weights are floats. Otherwise products are in 8 bits: `r` holds byte panels of these
  /// tiles, and phase 0 finds x W in the shared gates already.
  const ByteTileSet* tiles = nullptr;
  const std::uint8_t* narrow = nullptr;  ///< of each panel of `r`, 1 if it is narrow
};

// The packed forms put the four gates of one vector of units side by side, so that a unit's gates
// meet in registers. Sources have ONNX's shapes of one direction.
SLUICE_CPU_EACH_ISA(std::int64_t packed_lstm_w_floats(std::int64_t inputs, std::int64_t hidden);)
SLUICE_CPU_EACH_ISA(std::int64_t packed_lstm_r_floats(std::int64_t hidden);)
SLUICE_CPU_EACH_ISA(std::int64_t packed_lstm_bias_floats(std::int64_t hidden);)

/// The rows of `weights`, [4 * hidden][depth], in the order of packed columns; rows of zeros fill
/// up the last vector of units. `arranged` holds packed_lstm_bias_floats(hidden) rows.
SLUICE_CPU_EACH_ISA(void arrange_lstm_gates(const float* weights, std::int64_t depth,
                                            std::int64_t hidden, float* arranged);)

/// `w` is [4 * hidden][inputs]; `temporary` holds as many floats as `packed`.
SLUICE_CPU_EACH_ISA(void pack_lstm_w(const float* w, std::int64_t inputs, std::int64_t hidden,
                                     float* temporary, float* packed);)

/// `r` is [4 * hidden][hidden].
SLUICE_CPU_EACH_ISA(void pack_lstm_r(const float* r, std::int64_t hidden, float* packed);)

/// `bias` is [8 * hidden]: of W, then of R; null for zeros.
SLUICE_CPU_EACH_ISA(void pack_lstm_bias(const float* bias, std::int64_t hidden, float* packed);)

SLUICE_CPU_EACH_ISA(std::int64_t lstm_shared_floats(const LstmPlan& plan);)

/// The gates of a direction in the shared memory, [steps][batch][packed columns].
SLUICE_CPU_EACH_ISA(float* lstm_gates(const LstmPlan& plan, float* shared, std::int64_t direction);)

SLUICE_CPU_EACH_ISA(void run_lstm(const LstmPlan& plan, const LstmArgs& args, int phase,
                                  const Worker& worker);)

}  // namespace sluice::cpu
