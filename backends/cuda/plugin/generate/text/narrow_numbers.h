// Numbers of few bits in generated kernels: weights and their zero points.
#pragma once

#include <cstdint>
#include <string>

#include "plugin/generate/text/text.h"

namespace sluice::cuda {

/// Types of fewer than 32 bits that products take weights in.
bool is_narrow(sluice_element_type type);

/// What a kernel calls the type; 4 bits are in bytes of their sign.
std::string narrow_type_name(sluice_element_type type);

bool has_operand(const sluice_op& op, int input);

/// Numbers that one load takes: up to 16 bytes' worth, of a line of `neighbours`.
std::int64_t numbers_of_a_load(std::int64_t neighbours, int bits);

/// Functions of device code: `weights<kCount, E, kBits>(b, at, w)` reads kCount neighbours from
/// element `at` on, and `number<E, kBits>(values, at)` one.
const char* narrow_functions();

/// The statement that makes `zero(at)` the zero point of block `at`: input `zeros`, or 0.
std::string zero_text(const sluice_op& op, int zeros, Parameters* parameters);

}  // namespace sluice::cuda
