// 32 lanes in lockstep: their registers, and which of them an instruction concerns.
#pragma once

#include <bit>
#include <cstring>
#include <string>
#include <type_traits>

#include "emulator/ptx/code/program.h"
#include "sluice/status.h"

namespace sluice::cuda::ptx {

inline constexpr int kLanes = 32;
inline constexpr std::uint32_t kAllLanes = 0xffffffffu;

/// How a register keeps a value of 1, 2 or 4 bytes, or of 8.
template <class T>
using Stored = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
T unpack(Stored<T> bits) {
  if constexpr (sizeof(T) == sizeof(Stored<T>)) {
    return std::bit_cast<T>(bits);
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<T>(static_cast<std::uint16_t>(bits));
  } else {
    return std::bit_cast<T>(static_cast<std::uint8_t>(bits));
  }
}

template <class T>
Stored<T> pack(T value) {
  if constexpr (sizeof(T) == sizeof(Stored<T>)) {
    return std::bit_cast<Stored<T>>(value);
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<std::uint16_t>(value);
  } else {
    return std::bit_cast<std::uint8_t>(value);
  }
}

/// Why a kernel stops: the first lane that could not go on.
struct Failure {
  sluice_code code = SLUICE_OK;
  std::string why;
  int lane = 0;
};

/// What all warps of a block share; memory/block.h.
struct Block;

struct Warp {
  std::byte* file = nullptr;  ///< registers, Program::file_bytes
  std::uint32_t mask = 0;     ///< lanes that the running instruction concerns; not 0
  std::uint32_t live = 0;     ///< lanes that have not ended
  std::uint32_t index = 0;    ///< within its block
  Block* block = nullptr;
  bool has_failed = false;
  Failure failure;

  template <class T>
  Stored<T>* lanes(Place place) const {
    // The file is an array of bytes that registers alone use, each always with one size of lane.
    return reinterpret_cast<Stored<T>*>(file + (place & ~Place{1}));
  }
  std::uint32_t& predicate(Place place) const { return *lanes<std::uint32_t>(place); }

  /// Stores the lanes of `mask`.
  template <class S>
  void store(Place place, const S* values) const {
    S* out = lanes<S>(place);
    if (mask == kAllLanes) {
      std::memcpy(out, values, sizeof(S) * kLanes);
      return;
    }
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      out[lane] = values[lane];
    }
  }
  void store_predicate(Place place, std::uint32_t bits) const {
    std::uint32_t& out = predicate(place);
    out = (out & ~mask) | (bits & mask);
  }

  /// A register of either size as 64 bits, zero-extended.
  std::uint64_t read(Place place, int lane) const {
    return (place & 1) != 0 ? lanes<std::uint64_t>(place)[lane] : lanes<std::uint32_t>(place)[lane];
  }
  void write(Place place, int lane, std::uint64_t bits) const {
    if ((place & 1) != 0) {
      lanes<std::uint64_t>(place)[lane] = bits;
    } else {
      lanes<std::uint32_t>(place)[lane] = static_cast<std::uint32_t>(bits);
    }
  }

  void fail(sluice_code code, int lane, std::string why) {
    if (has_failed) return;
    has_failed = true;
    failure = {code, std::move(why), lane};
  }
};

/// Calls `visit(lane)` for each lane of a mask, the lowest first.
template <class Visit>
void for_lanes(std::uint32_t mask, Visit&& visit) {
  for (; mask != 0; mask &= mask - 1) visit(std::countr_zero(mask));
}

}  // namespace sluice::cuda::ptx
