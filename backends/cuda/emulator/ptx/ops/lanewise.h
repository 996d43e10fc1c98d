// Instructions that compute each lane by itself: a plain function of the lane's values, made a
// Step.
#pragma once

#include <utility>

#include "emulator/ptx/code/warp.h"

namespace sluice::cuda::ptx {

/// A function that takes this first gets the instruction's modifiers.
struct Modifiers {
  std::uint32_t bits;
  bool has(std::uint32_t bit) const { return (bits & bit) != 0; }
};

namespace detail {

template <class D>
void store_results(Warp& warp, Place out, const Stored<D>* results) {
  warp.store(out, results);
}

template <class D, class... S, class Call, std::size_t... I>
void run_lanes(Warp& warp, const Instruction& in, Call call, std::index_sequence<I...>) {
  if constexpr (std::is_same_v<D, bool>) {
    std::uint32_t bits = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      bits |= std::uint32_t{call(unpack<S>(warp.lanes<S>(in.in[I])[lane])...)} << lane;
    }
    warp.store_predicate(in.out, bits);
  } else {
    Stored<D> results[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      results[lane] = pack<D>(call(unpack<S>(warp.lanes<S>(in.in[I])[lane])...));
    }
    store_results<D>(warp, in.out, results);
  }
}

template <auto kFunction, class D, class... S>
void dispatch(Warp& warp, const Instruction& in, D (*)(S...)) {
  run_lanes<D, S...>(
      warp, in, [](S... values) { return kFunction(values...); }, std::index_sequence_for<S...>());
}

template <auto kFunction, class D, class... S>
void dispatch(Warp& warp, const Instruction& in, D (*)(Modifiers, S...)) {
  const Modifiers modifiers{in.modifiers};
  run_lanes<D, S...>(
      warp, in, [modifiers](S... values) { return kFunction(modifiers, values...); },
      std::index_sequence_for<S...>());
}

}  // namespace detail

/// Computes `out = kFunction(in[0], in[1], ...)` in the lanes of the mask. All lanes are computed,
/// so the function must be defined for any bits. A function to bool fills a predicate.
template <auto kFunction>
void lanewise(Warp& warp, const Instruction& in) {
  detail::dispatch<kFunction>(warp, in, kFunction);
}

}  // namespace sluice::cuda::ptx
