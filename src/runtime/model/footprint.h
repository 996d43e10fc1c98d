// The resources that a load needs, estimated before it.
#pragma once

#include <cstdint>
#include <string>

#include "package/executable.h"

namespace sluice::runtime {

struct Footprint {
  std::int64_t constants_bytes = 0;  ///< mapped from the package; shared by all loads of it
  std::int64_t packed_bytes = 0;     ///< repacked constants of backends; shared, too
  std::int64_t context_bytes = 0;    ///< of one slot: arena and outputs
  bool is_context_known = true;      ///< false: shapes are only known at run time
  std::int32_t depth = 1;

  /// With `depth` slots.
  std::int64_t total_bytes() const;
  std::string to_string() const;
};

/// Reads sizes only; touches no constant.
Footprint estimate_footprint(const package::Executable& executable, std::int32_t depth);

}  // namespace sluice::runtime
