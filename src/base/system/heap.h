// How much memory this process has allocated.
#pragma once

#include <cstdint>

namespace sluice {

/// Bytes that malloc and new have handed out and that were not freed yet. Unlike resident memory it
/// depends on neither the system's load nor the allocator's free lists.
///
/// Maps of files, shared memory and huge pages are no part of it. 0 where a sanitizer replaces
/// malloc. Takes the lock of each arena in turn: for reports, not for each request.
std::int64_t heap_bytes();

}  // namespace sluice
