// The heap of this process: how much it holds, and when it gives memory back.
#pragma once

#include <cstdint>

namespace sluice {

/// Bytes that malloc and new have handed out and that were not freed yet. Unlike resident memory it
/// depends on neither the system's load nor the allocator's free lists.
///
/// Maps of files, shared memory and huge pages are no part of it. 0 where a sanitizer replaces
/// malloc. Takes the lock of each arena in turn: for reports, not for each request.
std::int64_t heap_bytes();

/// Gives memory back to the system that malloc keeps after much was freed, as after large answers.
/// Used by one thread.
class HeapTrimmer {
 public:
  /// Trims if 16 MiB or more have been freed, and not allocated again, since the last look. Takes
  /// the lock of each arena in turn, and a trim some milliseconds: for every few seconds. Whether
  /// it trimmed.
  bool look();

 private:
  std::int64_t free_bytes_ = 0;  ///< at the last look
};

/// Blocks of 1 MiB and more go back to the system when they are freed, from now on. By itself glibc
/// keeps them once it has seen some, and what a compilation holds at most then depends on chance.
/// For a process that does one thing: each such block costs page faults.
void return_large_blocks();

}  // namespace sluice
