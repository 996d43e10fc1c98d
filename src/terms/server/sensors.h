// What the machine says of a device's hardware.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "terms/field.h"

namespace sluice::terms {

/// The latest values of a device's sensors. Absent: the machine does not tell.
struct Sensors {
  /// Temperature of the part nearest to its limit; of the hottest where none has a limit.
  std::optional<double> temperature_c = {};
  std::optional<double> temperature_limit_c = {};  ///< which the maker calls critical
  std::optional<double> power_w = {};              ///< of a processor: the mean since the last look
  /// Errors of its memory that were corrected, and that were not, since the system or its driver
  /// started.
  std::optional<std::int64_t> num_corrected_errors = {};
  std::optional<std::int64_t> num_uncorrected_errors = {};
  std::optional<std::int64_t> num_throttles = {};  ///< how often heat slowed it down; only grows
  bool is_slowed = false;  ///< heat slows it down now, as far as its driver tells
  std::string fault = {};  ///< what its driver calls broken; empty: nothing

  bool operator==(const Sensors&) const = default;
  SLUICE_FIELDS(temperature_c, temperature_limit_c, power_w, num_corrected_errors,
                num_uncorrected_errors, num_throttles, is_slowed, fault)
};

}  // namespace sluice::terms
