#pragma once

#include <cstdint>

#include "core/isa.h"
#include "core/worker.h"

namespace sluice::cpu {

/// Activation of an RNN's only gate.
enum class RnnActivation : std::uint8_t { kTanh, kRelu, kSigmoid };

/// A GRU (three gates, in ONNX's order: update, reset, candidate) or RNN (one gate) over a
/// sequence, in one or both directions:
///   z, r = sigmoid(x W + h R + b), n = tanh(x W + (r h) R + b), h' = (1 - z) n + z h.
/// With `is_linear_first`, n = tanh(x W + b + r (h R + c)): all gates of a step need h alone.
///
/// Phase 0 multiplies all inputs by W in one product. A time step then is one phase, or two where
/// the candidate needs r h of all units; hidden units are divided among the workers.
struct GruPlan {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t hidden = 0;
  std::int64_t directions = 1;
  std::int64_t gates = 3;  ///< 1: an RNN
  bool reverse = false;    ///< the only direction runs backwards; with two, the second does
  bool is_batch_first = false;
  bool is_linear_first = false;
  RnnActivation activation[2] = {};  ///< of an RNN's directions

  int step_phases() const { return gates == 3 && !is_linear_first ? 2 : 1; }
  int phases() const { return static_cast<int>(steps) * step_phases() + 1; }
  bool is_reverse(std::int64_t direction) const {
    return directions == 2 ? direction == 1 : reverse;
  }
};

/// Packed operands hold one direction after the other. With batch_first, `x` is
/// [batch][steps][inputs], states are [batch][directions][hidden] and `y` is
/// [batch][steps][directions][hidden]; else as of LstmArgs.
struct GruArgs {
  const float* x = nullptr;
  const float* w = nullptr;               ///< by pack_gru_w
  const float* r = nullptr;               ///< by pack_gru_r
  const float* bias = nullptr;            ///< by pack_gru_bias
  const std::int32_t* lengths = nullptr;  ///< steps of each batch item; null: all
  const float* initial_h = nullptr;       ///< null: zeros
  float* y = nullptr;                     ///< each result may be null
  float* last_h = nullptr;
  float* shared = nullptr;  ///< gru_shared_floats, of all workers
};

// Sources have ONNX's shapes of one direction.
SLUICE_CPU_EACH_ISA(std::int64_t packed_gru_w_floats(const GruPlan& plan);)
SLUICE_CPU_EACH_ISA(std::int64_t packed_gru_r_floats(const GruPlan& plan);)
SLUICE_CPU_EACH_ISA(std::int64_t packed_gru_bias_floats(const GruPlan& plan);)

/// `w` is [gates * hidden][inputs]; `temporary` holds as many floats as `packed`.
SLUICE_CPU_EACH_ISA(void pack_gru_w(const GruPlan& plan, const float* w, float* temporary,
                                    float* packed);)

/// `r` is [gates * hidden][hidden].
SLUICE_CPU_EACH_ISA(void pack_gru_r(const GruPlan& plan, const float* r, float* packed);)

/// `bias` is [2 * gates * hidden]: of W, then of R; null for zeros.
SLUICE_CPU_EACH_ISA(void pack_gru_bias(const GruPlan& plan, const float* bias, float* packed);)

SLUICE_CPU_EACH_ISA(std::int64_t gru_shared_floats(const GruPlan& plan);)

SLUICE_CPU_EACH_ISA(void run_gru(const GruPlan& plan, const GruArgs& args, int phase,
                                 const Worker& worker);)

}  // namespace sluice::cpu
