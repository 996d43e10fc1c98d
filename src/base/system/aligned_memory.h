// Memory for tensors that come from elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice {

/// Memory of `size_bytes` at a multiple of 64, not zeroed. Null if there is none. From 2 MiB on it
/// is in huge pages: reserved ones while the process has some, else transparent ones if the kernel
/// provides them, where the first write of each page costs a fault.
std::shared_ptr<std::byte> allocate_aligned(std::uint64_t size_bytes);

}  // namespace sluice
