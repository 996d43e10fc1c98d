#include "fuzz/operators/guarded_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#define SLUICE_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLUICE_HAS_ASAN 1
#endif
#endif
#ifdef SLUICE_HAS_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace sluice::fuzz {
namespace {

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kAlignment = 64;
constexpr std::byte kPattern{0xA5};
/// How far around a tensor the sanitizer watches, besides the guard page on one side.
constexpr std::int64_t kWatched = 2048;

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "operators: %s\n", what);
  std::abort();
}

void set_poisoned([[maybe_unused]] const std::byte* from, [[maybe_unused]] std::int64_t bytes,
                  [[maybe_unused]] bool is_poisoned) {
#ifdef SLUICE_HAS_ASAN
  if (is_poisoned) {
    ASAN_POISON_MEMORY_REGION(from, static_cast<std::size_t>(bytes));
  } else {
    ASAN_UNPOISON_MEMORY_REGION(from, static_cast<std::size_t>(bytes));
  }
#endif
}

}  // namespace

GuardedMemory::~GuardedMemory() {
  for (const Slot& slot : slots_) munmap(slot.begin - kPage, kMaxBytes + 2 * kPage);
}

GuardedMemory::Slot GuardedMemory::map_slot() {
  void* all = mmap(nullptr, kMaxBytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) die("no memory for a guarded slot");
  std::byte* begin = static_cast<std::byte*>(all) + kPage;
  if (mprotect(begin, kMaxBytes, PROT_READ | PROT_WRITE) != 0) die("no access to a guarded slot");
  return {begin, nullptr, 0};
}

void* GuardedMemory::place(std::int64_t bytes, bool at_end) {
  if (used_ == slots_.size()) slots_.push_back(map_slot());
  Slot& slot = slots_[used_++];
  const std::int64_t room = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  slot.bytes = bytes;
  slot.tensor = at_end ? slot.begin + kMaxBytes - room : slot.begin;
  const std::int64_t before = std::min<std::int64_t>(slot.tensor - slot.begin, kWatched);
  const std::int64_t after =
      std::min<std::int64_t>(slot.begin + kMaxBytes - slot.tensor - bytes, kWatched);
  std::memset(slot.tensor - before, static_cast<int>(kPattern),
              static_cast<std::size_t>(before + bytes + after));
  set_poisoned(slot.tensor - before, before, true);
  set_poisoned(slot.tensor + bytes, after, true);
  return slot.tensor;
}

void GuardedMemory::check(const Slot& slot) {
  const std::int64_t before = std::min<std::int64_t>(slot.tensor - slot.begin, kWatched);
  const std::int64_t after =
      std::min<std::int64_t>(slot.begin + kMaxBytes - slot.tensor - slot.bytes, kWatched);
  set_poisoned(slot.tensor - before, before + slot.bytes + after, false);
  const auto is_changed = [](std::byte byte) { return byte != kPattern; };
  if (std::any_of(slot.tensor - before, slot.tensor, is_changed)) {
    die("bytes before a tensor were written");
  }
  const std::byte* end = slot.tensor + slot.bytes;
  if (std::any_of(end, end + after, is_changed)) die("bytes behind a tensor were written");
}

void GuardedMemory::check_and_reset() {
  for (std::size_t i = 0; i < used_; ++i) check(slots_[i]);
  used_ = 0;
}

}  // namespace sluice::fuzz
