#pragma once

namespace sluice {

/// Version of the programs and libraries, and of the compiler in the packages that it writes.
/// CMakeLists.txt has it too.
inline constexpr const char kSluiceVersion[] = "0.1.0";

}  // namespace sluice
