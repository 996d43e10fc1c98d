// Bytes of a mapped file as a kernel may read them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"
#include "ir/element_type.h"

namespace sluice::weights {

/// The same bytes, or a copy where their address is no multiple of the element's size. A header of
/// odd length moves the tensors behind it to odd addresses.
inline Bytes aligned(Bytes bytes, ir::ElementType element) {
  const auto size = static_cast<std::uintptr_t>(std::max(1, ir::element_bits(element) / 8));
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % size == 0) return bytes;
  return MutableBytes::copy_of(bytes.view()).freeze();
}

}  // namespace sluice::weights
