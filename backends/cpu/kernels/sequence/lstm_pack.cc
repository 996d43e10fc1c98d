#include "core/simd.h"
#include "kernels/matrix/gemm.h"
#include "kernels/sequence/lstm.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Calls `put(source row, packed column)`; source row -1 stands for the padding of the last block.
template <typename Put>
void for_each_gate_column(std::int64_t hidden, Put put) {
  const std::int64_t blocks = (hidden + kLanes - 1) / kLanes;
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::int64_t gate = 0; gate < kLstmGates; ++gate) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        const std::int64_t unit = block * kLanes + lane;
        put(unit < hidden ? gate * hidden + unit : -1, (block * kLstmGates + gate) * kLanes + lane);
      }
    }
  }
}

std::int64_t gate_columns(std::int64_t hidden) {
  return (hidden + kLanes - 1) / kLanes * kLanes * kLstmGates;
}

}  // namespace

std::int64_t packed_lstm_w_floats(std::int64_t inputs, std::int64_t hidden) {
  return packed_gemm_b_floats(inputs, gate_columns(hidden));
}

std::int64_t packed_lstm_r_floats(std::int64_t hidden) { return hidden * gate_columns(hidden); }

std::int64_t packed_lstm_bias_floats(std::int64_t hidden) { return gate_columns(hidden); }

void arrange_lstm_gates(const float* weights, std::int64_t depth, std::int64_t hidden,
                        float* arranged) {
  for_each_gate_column(hidden, [&](std::int64_t row, std::int64_t column) {
    for (std::int64_t p = 0; p < depth; ++p) {
      arranged[column * depth + p] = row < 0 ? 0 : weights[row * depth + p];
    }
  });
}

void pack_lstm_w(const float* w, std::int64_t inputs, std::int64_t hidden, float* temporary,
                 float* packed) {
  arrange_lstm_gates(w, inputs, hidden, temporary);
  pack_gemm_b(temporary, 1, inputs, inputs, gate_columns(hidden), 1, packed);
}

void pack_lstm_r(const float* r, std::int64_t hidden, float* packed) {
  constexpr std::int64_t kWidth = kLstmGates * kLanes;
  for_each_gate_column(hidden, [&](std::int64_t row, std::int64_t column) {
    float* to = packed + column / kWidth * kWidth * hidden + column % kWidth;
    for (std::int64_t p = 0; p < hidden; ++p) to[p * kWidth] = row < 0 ? 0 : r[row * hidden + p];
  });
}

void pack_lstm_bias(const float* bias, std::int64_t hidden, float* packed) {
  for_each_gate_column(hidden, [&](std::int64_t row, std::int64_t column) {
    const bool some = bias != nullptr && row >= 0;
    packed[column] = some ? bias[row] + bias[kLstmGates * hidden + row] : 0;
  });
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
