#pragma once

// What is done to the exact sums of a convolution of bytes.

#include "kernels/bytes/byte_conv_tile.h"
#include "kernels/bytes/byte_vectors.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

/// Finishes the sums of one pixel and one vector of channels, whose results go to element `at`.
SLUICE_CPU_INLINE void finish_bytes(const ByteFinish& f, Vec sum, Vec scale, Vec bias,
                                    std::int64_t at) {
  Vec x = fmadd(sum, scale, bias);
  if (f.residual_bytes != nullptr || f.residual_floats != nullptr) {
    x = min(broadcast(f.own_high), max(x, broadcast(f.own_low)));
    const Vec residual = f.residual_bytes != nullptr ? load_bytes(f.residual_bytes + at)
                                                     : load(f.residual_floats + at);
    x = fmadd(residual, broadcast(f.residual_scale), x);
  }
  x = min(broadcast(f.high), max(x, broadcast(f.low)));
  if (f.output_bytes != nullptr) {
    store_bytes(f.output_bytes + at, to_nearest_int(x) + broadcast_int(f.output_zero));
  } else {
    store(f.output_floats + at, x);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
