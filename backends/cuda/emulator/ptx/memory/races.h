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
  void begin_epoch() { ++epoch_; }

  /// An access of one thread. Requires: the bytes lie in shared memory. `unchanged`: a write that
  /// leaves the bytes as they are, which races with nobody.
  void read(std::uint32_t warp, std::uint32_t line, std::uint64_t offset, std::uint32_t bytes);
  void write(std::uint32_t warp, std::uint32_t line, std::uint64_t offset, std::uint32_t bytes,
             bool unchanged);

  /// The first conflict, as text; empty without one.
  const std::string& found() const { return found_; }

 private:
  struct Touch {
    std::uint32_t epoch = 0, line = 0;
    std::uint16_t warp = 0;
    std::uint8_t bytes = 0;  ///< a bit for each byte of the word
  };
  struct Word {
    Touch written, read;
  };

  bool conflicts(const Touch& before, const Touch& now) const {
    return before.epoch == now.epoch && before.warp != now.warp && (before.bytes & now.bytes) != 0;
  }
  void report(const char* how, std::uint64_t word, const Touch& before, const Touch& now);
  template <class Visit>
  void for_words(std::uint32_t warp, std::uint32_t line, std::uint64_t offset, std::uint32_t bytes,
                 Visit visit);

  bool is_enabled_ = false;
  std::uint32_t epoch_ = 1;
  std::vector<Word> words_;
  std::string found_;
};

}  // namespace sluice::cuda::ptx
