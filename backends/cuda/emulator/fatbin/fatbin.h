// The entries of fat binaries: device code of several kinds and architectures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "driver/fatbin.h"
#include "driver/results.h"

namespace sluice::cuda::emulator {

/// The PTX text for the highest architecture up to `capability`, 10 * major + minor; that of the
/// lowest if there is none. Texts may be compressed by zstd, as nvcc 13 does, whose library is
/// opened then.
///
/// Format: a header of magic, version and bytes behind it; then entries, each with a header that
/// states its kind (1: PTX, 2: machine code), bytes, architecture and compression. Learned from
/// what nvcc writes.
///
/// Fails: INVALID_ARGUMENT  damaged, or more text than ptx::kMaxTextBytes
///        NOT_FOUND         no PTX
///        UNIMPLEMENTED     another compression
///        UNAVAILABLE       libzstd is not installed
Status find_ptx(std::span<const std::byte> fatbin, int capability, std::string* ptx);

}  // namespace sluice::cuda::emulator
