// Memory as the guest knows it, to tell the device's addresses from the host's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "guest/runtime/errors.h"

namespace sluice::guest {

/// Whether the address lies in device memory that this process has allocated.
bool is_on_device(const void* address);

/// As cudaMallocAsync.
Error allocate_in_order(void** address, std::size_t bytes, std::uint64_t stream);

inline std::uint64_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace sluice::guest
