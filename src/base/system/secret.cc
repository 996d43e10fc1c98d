#include "base/system/secret.h"

#include <sys/random.h>

#include <array>

namespace sluice {
namespace {

// 128 bits cannot be guessed, at any rate of calls.
constexpr std::size_t kSecretBytes = 16;

}  // namespace

Result<std::string> make_secret() {
  std::array<unsigned char, kSecretBytes> bytes = {};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return make_error(Code::kUnavailable, "the system gives no random numbers for a secret");
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    // Every byte is compared: the time does not show how many agree.
    difference |=
        static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

}  // namespace sluice
