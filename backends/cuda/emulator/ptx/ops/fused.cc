#include "emulator/ptx/ops/fused.h"

#include <cmath>

#include "emulator/ptx/code/warp.h"
#include "emulator/ptx/memory/block.h"

namespace sluice::cuda::ptx {
namespace {

template <class T>
[[gnu::always_inline]] inline void fuse(Warp& warp, const Instruction& in) {
  Stored<T> results[kLanes];
  const Stored<T>* a = warp.lanes<T>(in.in[0]);
  const Stored<T>* b = warp.lanes<T>(in.in[1]);
  const Stored<T>* c = warp.lanes<T>(in.in[2]);
  for (int lane = 0; lane < kLanes; ++lane) {
    results[lane] = pack<T>(std::fma(unpack<T>(a[lane]), unpack<T>(b[lane]), unpack<T>(c[lane])));
  }
  warp.store(in.out, results);
  warp.block->counts->lane_multiplications += static_cast<unsigned>(std::popcount(warp.mask));
}

template <class T>
void fuse_anywhere(Warp& warp, const Instruction& in) {
  fuse<T>(warp, in);
}

#if defined(__x86_64__)
// Without the attribute each lane would call libm.
[[gnu::target("avx2,fma")]] void fuse_single(Warp& warp, const Instruction& in) {
  fuse<float>(warp, in);
}
[[gnu::target("avx2,fma")]] void fuse_double(Warp& warp, const Instruction& in) {
  fuse<double>(warp, in);
}

bool has_fma() { return __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("avx2") != 0; }
#else
void fuse_single(Warp& warp, const Instruction& in) { fuse<float>(warp, in); }
void fuse_double(Warp& warp, const Instruction& in) { fuse<double>(warp, in); }

bool has_fma() { return true; }
#endif

}  // namespace

Step fused_step(Type type) {
  static const bool kHasFma = has_fma();
  if (type == Type::kF32) return kHasFma ? fuse_single : fuse_anywhere<float>;
  if (type == Type::kF64) return kHasFma ? fuse_double : fuse_anywhere<double>;
  return nullptr;
}

}  // namespace sluice::cuda::ptx
