// Integers with scales and zero points, as kernels compute with them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/kernels/support.h"

namespace sluice::reference {

/// Which axis of a matrix stack (or of weights) a vector of zero points runs along.
enum ZeroPointAxis { kRowAxis, kColumnAxis, kFirstAxis };

/// Input `input` less the zero point of input `zero`, which may be absent, one, or one per index of
/// the axis.
/// Fails: SLUICE_FAILED_PRECONDITION  the input is no 8-bit integer
///        SLUICE_INVALID_ARGUMENT     the zero points do not fit
Status read_shifted(const Call& call, int input, int zero, ZeroPointAxis axis,
                    std::vector<std::int32_t>* values);
/// As above for 8-bit floats, too.
Status read_shifted(const Call& call, int input, int zero, ZeroPointAxis axis,
                    std::vector<double>* values);

/// saturate(round(value) + zero), half to even; `zero_point` is one number of the output's type.
/// 8-bit floats are not rounded to integers first.
Status write_quantized(const Call& call, int output, std::span<const double> values,
                       const sluice_tensor& zero_point);

}  // namespace sluice::reference
