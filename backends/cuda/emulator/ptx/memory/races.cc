#include "emulator/ptx/memory/races.h"

#include <algorithm>
#include <bit>

namespace sluice::cuda::ptx {

void Races::reset(std::size_t shared_bytes, bool is_enabled) {
  is_enabled_ = is_enabled;
  // Words keep what an earlier block did, in epochs that are over.
  words_.resize(is_enabled ? (shared_bytes + 3) / 4 : 0);
  begin_epoch();
  found_.clear();
}

template <class Visit>
void Races::for_words(Touch now, std::uint64_t offset, std::uint32_t bytes, Visit visit) {
  for (const std::uint64_t end = offset + bytes; offset < end && found_.empty();) {
    const std::uint64_t word = offset / 4, next = std::min((word + 1) * 4, end);
    const std::uint64_t touched = ((1u << (next - offset)) - 1) << offset % 4;
    now.bits = (now.bits & ~(kWholeWord << 27)) | touched << 27;
    visit(word, now);
    offset = next;
  }
}

void Races::begin_epoch() {
  if (++epoch_ <= kMaxEpoch) return;
  epoch_ = 1;
  std::fill(words_.begin(), words_.end(), Word());
}

void Races::read(std::uint32_t warp, std::uint32_t line, std::uint32_t mask,
                 const std::uint64_t offsets[32], std::uint32_t bytes) {
  const Touch now = touch(warp, line);
  const std::uint64_t epoch = epoch_;
  Word* words = words_.data();
  for (std::uint64_t before = ~std::uint64_t{0}; mask != 0; mask &= mask - 1) {
    const std::uint64_t offset = offsets[std::countr_zero(mask)];
    if (offset == before) continue;  // neighbours often read one word
    before = offset;
    Word& word = words[offset / 4];
    if (bytes == 4 && word.written.epoch() != epoch) {
      word.read = now;
    } else {
      read_any(now, offset, bytes);
    }
  }
}

void Races::read_any(const Touch& first, std::uint64_t offset, std::uint32_t bytes) {
  for_words(first, offset, bytes, [&](std::uint64_t number, const Touch& now) {
    Word& word = words_[number];
    if (conflicts(word.written, now)) return report("read after", number, word.written, now);
    word.read = now;
  });
}

void Races::write(std::uint32_t warp, std::uint32_t line, std::uint64_t offset, std::uint32_t bytes,
                  bool unchanged) {
  const Touch first = touch(warp, line);
  for_words(first, offset, bytes, [&](std::uint64_t number, const Touch& now) {
    Word& word = words_[number];
    if (!unchanged && conflicts(word.written, now))
      return report("write after", number, word.written, now);
    if (!unchanged && conflicts(word.read, now))
      return report("write after", number, word.read, now);
    word.written = now;
  });
}

void Races::report(const char* how, std::uint64_t word, const Touch& before, const Touch& now) {
  found_ = "race in shared memory: byte " + std::to_string(word * 4) + ": " + how +
           " the access of line " + std::to_string(before.line()) + " by warp " +
           std::to_string(before.warp()) + ", without a barrier in between, by warp " +
           std::to_string(now.warp());
}

}  // namespace sluice::cuda::ptx
