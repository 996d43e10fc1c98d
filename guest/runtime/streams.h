// Streams as programs name them.
#pragma once

#include <cstdint>

namespace sluice::guest {

inline constexpr std::uintptr_t kLegacyStream = 1;     // cudaStreamLegacy
inline constexpr std::uintptr_t kPerThreadStream = 2;  // cudaStreamPerThread
inline constexpr std::uintptr_t kFirstHandle = 0x100;  // of streams that programs create

/// The proxy's number of a stream. `is_per_thread`: null means the thread's default stream, as
/// programs have it that were compiled for one per thread; they call the functions with the
/// suffixes _ptsz and _ptds.
std::uint64_t stream_number(const void* stream, bool is_per_thread = false);

}  // namespace sluice::guest
