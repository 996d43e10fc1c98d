#include "emulator/ptx/memory/traffic.h"

#include <algorithm>
#include <bit>

namespace sluice::cuda::ptx {
namespace {

constexpr std::uint64_t kSectorBytes = 32, kBankBytes = 4, kBanks = 32;

/// The distinct ones of sorted or unsorted numbers; most warps give them in order.
std::uint64_t count_distinct(std::uint64_t* numbers, int count) {
  if (!std::is_sorted(numbers, numbers + count)) std::sort(numbers, numbers + count);
  return static_cast<std::uint64_t>(std::unique(numbers, numbers + count) - numbers);
}

/// Turns for the lanes of one part of the warp.
std::uint64_t count_turns(std::uint32_t mask, const std::uint64_t addresses[32],
                          std::uint32_t bytes) {
  std::uint64_t words[kBanks * 4];
  int count = 0;
  std::uint64_t low = ~std::uint64_t{0}, high = 0;
  for (; mask != 0; mask &= mask - 1) {
    const std::uint64_t first = addresses[std::countr_zero(mask)] / kBankBytes;
    for (std::uint64_t word = first; word < first + std::max<std::uint64_t>(bytes / kBankBytes, 1);
         ++word) {
      words[count++] = word;
      low = std::min(low, word);
      high = std::max(high, word);
    }
  }
  if (count == 0 || high - low < kBanks) return count == 0 ? 0 : 1;
  const auto distinct = static_cast<int>(count_distinct(words, count));
  std::uint64_t turns[kBanks] = {};
  for (int i = 0; i < distinct; ++i) ++turns[words[i] % kBanks];
  return *std::max_element(turns, turns + kBanks);
}

}  // namespace

std::uint64_t count_sectors(std::uint32_t mask, const std::uint64_t addresses[32]) {
  std::uint64_t sectors[32];
  int count = 0;
  for (; mask != 0; mask &= mask - 1)
    sectors[count++] = addresses[std::countr_zero(mask)] / kSectorBytes;
  return count_distinct(sectors, count);
}

std::uint64_t count_conflicts(std::uint32_t mask, const std::uint64_t addresses[32],
                              std::uint32_t bytes) {
  const std::uint32_t lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  const std::uint32_t part = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
  std::uint64_t turns = 0, parts = 0;
  for (std::uint32_t begin = 0; begin < 32; begin += lanes) {
    if ((mask & part << begin) == 0) continue;
    turns += count_turns(mask & part << begin, addresses, bytes);
    ++parts;
  }
  return turns - parts;
}

}  // namespace sluice::cuda::ptx
