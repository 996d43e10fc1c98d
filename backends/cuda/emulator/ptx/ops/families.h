// Opcodes by the family that decodes them, a file each.
#pragma once

#include <string_view>
#include <unordered_map>

#include "emulator/ptx/decode/decoder.h"

namespace sluice::cuda::ptx {

/// Turns a statement into an instruction of the builder, or throws Refusal.
using Decode = void (*)(Decoder&);
using Opcodes = std::unordered_map<std::string_view, Decode>;

void add_arithmetic(Opcodes* opcodes);  // add, sub, mul, fma, min: by type to the next three
void add_bits(Opcodes* opcodes);
void add_compare(Opcodes* opcodes);
void add_convert(Opcodes* opcodes);
void add_functions(Opcodes* opcodes);  // sqrt, ex2, ...
void add_moves(Opcodes* opcodes);
void add_loads(Opcodes* opcodes);
void add_atomics(Opcodes* opcodes);
void add_copies(Opcodes* opcodes);
void add_lanes(Opcodes* opcodes);  // shuffles, votes
void add_matrix(Opcodes* opcodes);
void add_wmma(Opcodes* opcodes);
void add_control(Opcodes* opcodes);

/// Arithmetic of integers, of integers with a carry, of f32 and f64, of fp16 and bf16.
void decode_integer(Decoder& decoder);
void decode_carry(Decoder& decoder);
void decode_float(Decoder& decoder, Type type);
void decode_half(Decoder& decoder, Type type);

/// All of them; null for a family that the interpreter lacks.
Decode find_opcode(std::string_view family);

}  // namespace sluice::cuda::ptx
