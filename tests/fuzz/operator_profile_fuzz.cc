// A file of measured times: whatever the reader accepts, it writes and reads again without change.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "compile/profile/operator_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::compile;  // NOLINT(google-build-using-namespace)
  const auto profile = parse_operator_profile({reinterpret_cast<const char*>(data), size});
  if (!profile.is_ok()) return 0;
  const std::string text = to_json(*profile);
  const auto again = parse_operator_profile(text);
  if (!again.is_ok() || to_json(*again) != text) std::abort();
  return 0;
}
