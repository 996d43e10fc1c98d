#include "emulator/ptx/memory/races.h"

#include <algorithm>

namespace sluice::cuda::ptx {

void Races::reset(std::size_t shared_bytes, bool is_enabled) {
  is_enabled_ = is_enabled;
  // Words keep what an earlier block did, in epochs that are over.
  words_.resize(is_enabled ? (shared_bytes + 3) / 4 : 0);
  begin_epoch();
  found_.clear();
}

template <class Visit>
void Races::for_words(std::uint32_t warp, std::uint32_t line, std::uint64_t offset,
                      std::uint32_t bytes, Visit visit) {
  for (const std::uint64_t end = offset + bytes; offset < end && found_.empty();) {
    const std::uint64_t word = offset / 4, next = std::min((word + 1) * 4, end);
    const std::uint32_t touched = ((1u << (next - offset)) - 1) << offset % 4;
    visit(word, Touch{epoch_, line, static_cast<std::uint16_t>(warp),
                      static_cast<std::uint8_t>(touched)});
    offset = next;
  }
}

void Races::read(std::uint32_t warp, std::uint32_t line, std::uint64_t offset,
                 std::uint32_t bytes) {
  for_words(warp, line, offset, bytes, [&](std::uint64_t number, const Touch& now) {
    Word& word = words_[number];
    if (conflicts(word.written, now)) return report("read after", number, word.written, now);
    word.read = now;
  });
}

void Races::write(std::uint32_t warp, std::uint32_t line, std::uint64_t offset, std::uint32_t bytes,
                  bool unchanged) {
  for_words(warp, line, offset, bytes, [&](std::uint64_t number, const Touch& now) {
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
           " the access of line " + std::to_string(before.line) + " by warp " +
           std::to_string(before.warp) + ", without a barrier in between, by warp " +
           std::to_string(now.warp);
}

}  // namespace sluice::cuda::ptx
