// A kernel's body, and those of the functions that it calls, to a program.
#pragma once

#include "emulator/ptx/decode/module_text.h"

namespace sluice::cuda::ptx {

/// Finds the function that decodes an opcode; ops/families.h has it.
class Decoder;
using FindDecode = void (*(*)(std::string_view family))(Decoder&);

/// Everything but `Kernel::variables`. Throws Refusal.
Kernel compile_kernel(const ModuleText& module, const EntryText& entry, FindDecode find_decode);

}  // namespace sluice::cuda::ptx
