// Texts that only those know who were told.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

/// 128 random bits, in hexadecimal. Fails: kUnavailable where the system has no random numbers.
Result<std::string> make_secret();

/// Takes the same time wherever the two differ first: nobody can guess one byte by byte.
bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace sluice
