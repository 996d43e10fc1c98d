// Numbers as people read them. The daemon's page writes them alike (src/page/assets/format.js);
// tests/page/words.json holds both to the same examples.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "terms/server/sensors.h"

namespace sluice::tool {

/// Three digits that mean something: "0.5", "12.3", "1,235".
std::string three_digits(double value);

/// "1,234,567"
std::string describe_count(std::int64_t count);

/// "1 restart", "1,234 restarts"
std::string describe_count(std::int64_t count, std::string_view noun);

/// "12.3 us": three digits and a unit.
std::string describe_duration(std::int64_t duration_ns);

/// "3 h 12 min": whole numbers of the two largest units, from days to seconds.
std::string describe_age(std::int64_t age_ns);

/// "50 %", of a share from 0 to 1.
std::string describe_share(double share);

/// "71 °C, 85 W, 3 memory errors corrected, slowed down 2 times"; "-" where the machine tells
/// nothing.
std::string describe_sensors(const terms::Sensors& sensors);

}  // namespace sluice::tool
