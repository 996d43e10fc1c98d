// Conflicts in shared memory: two warps touch a byte, one of them writes, and neither waited.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::cuda::ptx {

/// Remembers, for each word of shared memory, who wrote and who read it last. Barriers and fences
/// begin a new epoch; accesses of different epochs never conflict. Some races are missed: a word
/// keeps one writer and one reader. What is reported is one.
class Races {
 public:
  void reset(std::size_t shared_bytes, bool is_enabled);

  bool is_enabled() const { return is_enabled_; }
  void begin_epoch();

  /// Reads of `bytes` bytes from each lane's offset. Requires: the bytes lie in shared memory.
  void read(std::uint32_t warp, std::uint32_t line, std::uint32_t mask,
            const std::uint64_t offsets[32], std::uint32_t bytes);
  /// A write of one thread. `unchanged`: it leaves the bytes as they are, and races with nobody.
  void write(std::uint32_t warp, std::uint32_t line, std::uint64_t offset, std::uint32_t bytes,
             bool unchanged);

  /// The first conflict, as text; empty without one.
  const std::string& found() const { return found_; }

 private:
  /// Who touched which of a word's 4 bytes: epoch, warp, bytes and line in one number.
  struct Touch {
    std::uint64_t bits = 0;

    std::uint64_t epoch() const { return bits >> 36; }
    std::uint64_t warp() const { return bits >> 31 & 31; }
    std::uint64_t bytes() const { return bits >> 27 & 15; }
    std::uint64_t line() const { return bits & kMaxLine; }
  };
  static constexpr std::uint64_t kMaxLine = (1 << 27) - 1, kMaxEpoch = (1 << 28) - 1,
                                 kWholeWord = 15;
  struct Word {
    Touch written, read;
  };

  Touch touch(std::uint32_t warp, std::uint32_t line) const {
    return {epoch_ << 36 | std::uint64_t{warp & 31} << 31 | kWholeWord << 27 | (line & kMaxLine)};
  }
  bool conflicts(const Touch& before, const Touch& now) const {
    return before.epoch() == now.epoch() && before.warp() != now.warp() &&
           (before.bytes() & now.bytes()) != 0;
  }
  void read_any(const Touch& first, std::uint64_t offset, std::uint32_t bytes);
  void report(const char* how, std::uint64_t word, const Touch& before, const Touch& now);
  /// Calls `visit(word, now)` for each word of the bytes, with the bytes within it.
  template <class Visit>
  void for_words(Touch now, std::uint64_t offset, std::uint32_t bytes, Visit visit);

  bool is_enabled_ = false;
  std::uint64_t epoch_ = 1;
  std::vector<Word> words_;
  std::string found_;
};

}  // namespace sluice::cuda::ptx
