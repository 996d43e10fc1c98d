#include "core/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace sluice::cpu {
namespace {

Isa lowered_by_environment(Isa isa) {
  const char* wanted = std::getenv("SLUICE_CPU_ISA");
  if (wanted == nullptr) return isa;
  for (const Isa candidate : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
    if (std::strcmp(wanted, isa_name(candidate)) == 0) return candidate < isa ? candidate : isa;
  }
  return isa;
}

bool is_amd() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // this runs before main
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

std::int64_t find_stream_ahead() {
  constexpr std::int64_t kPage = 4096;  // which prefetchers do not cross
  return is_amd() ? 0 : kPage;
}

#if defined(__x86_64__)
/// Conversions of 16-bit floats. Compilers do not all know the name "f16c".
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

}  // namespace

// Not a function: kernels ask with all their sums in registers, which a call would spill.
const std::int64_t kStreamAheadBytes = find_stream_ahead();
const bool kConvertsBesideSums = is_amd();

Isa detect_isa() {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx2 && avx512) return Isa::kAvx512;
  if (avx2) return Isa::kAvx2;
#endif
  return Isa::kPortable;
}

Isa active_isa() {
  static const Isa isa = lowered_by_environment(detect_isa());
  return isa;
}

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::kPortable: return "portable";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512: return "avx512";
  }
  return "unknown";
}

bool has_vnni() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512vnni");
  return has;
#else
  return false;
#endif
}

}  // namespace sluice::cpu
