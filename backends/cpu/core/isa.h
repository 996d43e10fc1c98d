#pragma once

#include <cstdint>

namespace sluice::cpu {

/// Instruction sets that the kernels are compiled for, weakest first.
enum class Isa { kPortable, kAvx2, kAvx512 };

inline constexpr int kIsaCount = 3;

/// The strongest set this processor and operating system run.
Isa detect_isa();

/// `detect_isa()`, lowered by the environment variable SLUICE_CPU_ISA=portable|avx2|avx512 (it
/// never raises; an unknown word is ignored). Read once, at the first call.
Isa active_isa();

const char* isa_name(Isa isa);

/// Whether kernels of kAvx512 may multiply four pairs of bytes in one instruction.
bool has_vnni();

/// How far ahead a kernel that reads a long stream should ask for it, in bytes. 0 where the
/// processor's own prefetching is faster left alone: on AMD's, by a quarter from the third cache,
/// while reading memory is no slower.
extern const std::int64_t kStreamAheadBytes;

/// Whether conversions of 16-bit floats run beside multiply-adds, on pipes of their own: on AMD's.
/// Elsewhere they take the place of some.
extern const bool kConvertsBesideSums;

}  // namespace sluice::cpu

// Every kernel source is compiled once per instruction set, each time into the namespace of that
// set. A header declares all of them with SLUICE_CPU_EACH_ISA and chooses with SLUICE_CPU_PICK:
//
//   SLUICE_CPU_EACH_ISA(void run_gemm(const GemmPlan& plan, ...);)
//   auto* run = SLUICE_CPU_PICK(active_isa(), run_gemm);
#if defined(__x86_64__)
#define SLUICE_CPU_EACH_ISA(...) \
  namespace portable {           \
  __VA_ARGS__                    \
  }                              \
  namespace avx2 {               \
  __VA_ARGS__                    \
  }                              \
  namespace avx512 {             \
  __VA_ARGS__                    \
  }
#define SLUICE_CPU_PICK(isa, function)                                     \
  ((isa) == ::sluice::cpu::Isa::kAvx512 ? &::sluice::cpu::avx512::function \
   : (isa) == ::sluice::cpu::Isa::kAvx2 ? &::sluice::cpu::avx2::function   \
                                        : &::sluice::cpu::portable::function)
#else
#define SLUICE_CPU_EACH_ISA(...) \
  namespace portable {           \
  __VA_ARGS__                    \
  }
#define SLUICE_CPU_PICK(isa, function) (static_cast<void>(isa), &::sluice::cpu::portable::function)
#endif
