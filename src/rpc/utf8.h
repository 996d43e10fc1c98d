// Texts of files and devices may hold any bytes; those of messages must be UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace sluice::rpc {

/// `text` with each byte that is part of no character replaced by '?'.
std::string valid_utf8(std::string_view text);

}  // namespace sluice::rpc
