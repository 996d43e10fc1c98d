#include "emulator/ptx/memory/traffic.h"

#include <algorithm>
#include <bit>

namespace sluice::cuda::ptx {
namespace {

constexpr std::uint64_t kBanks = 32;
constexpr std::uint32_t kBankBytes = 4;

/// The distinct ones of sorted or unsorted numbers; most warps give them in order.
std::uint64_t count_distinct(std::uint64_t* numbers, int count) {
  if (!std::is_sorted(numbers, numbers + count)) std::sort(numbers, numbers + count);
  return static_cast<std::uint64_t>(std::unique(numbers, numbers + count) - numbers);
}

/// Whether all words lie in one row of the banks, where no two of them share a bank.
bool is_one_row(const std::uint64_t addresses[32], std::uint32_t bytes) {
  std::uint64_t low = ~std::uint64_t{0}, high = 0;
  for (int lane = 0; lane < 32; ++lane) {
    low = std::min(low, addresses[lane]);
    high = std::max(high, addresses[lane]);
  }
  return high + bytes - low <= kBanks * kBankBytes;
}

/// Turns for the lanes of one part of the warp: the most words that one bank must give.
std::uint64_t count_turns(std::uint32_t mask, const std::uint64_t addresses[32],
                          std::uint32_t bytes) {
  std::uint32_t words[kBanks][kBanks];  // of each bank, without repetition
  std::uint32_t counts[kBanks] = {};
  std::uint32_t turns = 0;
  const std::uint32_t words_per_lane = bytes <= kBankBytes ? 1 : bytes / kBankBytes;
  for (; mask != 0; mask &= mask - 1) {
    const auto first = static_cast<std::uint32_t>(addresses[std::countr_zero(mask)] / kBankBytes);
    for (std::uint32_t word = first; word < first + words_per_lane; ++word) {
      std::uint32_t* of_bank = words[word % kBanks];
      std::uint32_t& count = counts[word % kBanks];
      std::uint32_t i = 0;
      while (i < count && of_bank[i] != word) ++i;
      if (i < count) continue;  // another lane reads it, too
      of_bank[count++] = word;
      turns = std::max(turns, count);
    }
  }
  return turns;
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
  if (mask == 0xffffffffu && bytes == kBankBytes && is_one_row(addresses, bytes)) return 0;
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
