#include "emulator/ptx/ops/families.h"

namespace sluice::cuda::ptx {
namespace {

Opcodes all_opcodes() {
  Opcodes opcodes;
  for (const auto add :
       {add_arithmetic, add_bits, add_compare, add_convert, add_functions, add_moves, add_loads,
        add_atomics, add_copies, add_lanes, add_matrix, add_wmma, add_control}) {
    add(&opcodes);
  }
  return opcodes;
}

}  // namespace

Decode find_opcode(std::string_view family) {
  static const Opcodes kOpcodes = all_opcodes();
  const auto found = kOpcodes.find(family);
  return found == kOpcodes.end() ? nullptr : found->second;
}

}  // namespace sluice::cuda::ptx
