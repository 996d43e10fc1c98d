// Tensors of heads as [batch, heads, length, size], whichever form they come in.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/kernels.h"

namespace sluice::reference {

/// [B, S, H * D] as [B, H, S, D], or back with `heads` and `length` exchanged.
std::vector<double> swap_middle(const std::vector<double>& x, std::int64_t batch,
                                std::int64_t outer, std::int64_t inner, std::int64_t size);

/// An input as [B, H, S, D].
struct Heads {
  std::int64_t batch = 0, heads = 0, length = 0, size = 0;
  std::vector<double> values;
};

/// Reads an input of four axes, or of three and as many heads as the attribute says.
/// Fails: SLUICE_INVALID_ARGUMENT  it has no such heads
Status read_heads(const Call& call, int input, const char* attribute, Heads* heads);

/// Puts an input [B, H, P, D], if it is there, ahead of the heads.
Status append_past(const Call& call, int input, Heads* heads);

}  // namespace sluice::reference
