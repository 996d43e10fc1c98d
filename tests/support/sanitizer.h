// Whether this build has a sanitizer.
#pragma once

namespace sluice {

/// The address sanitizer keeps what was freed; the thread sanitizer has several bytes of its own
/// for each byte. Both make programs slower. A test judges neither memory nor time there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace sluice
