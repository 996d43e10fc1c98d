// Text inside an XML document, such as a drawing.
#pragma once

#include <string>
#include <string_view>

namespace sluice::tool {

/// `text` for use as an attribute's value or between tags. Control characters, which XML forbids,
/// become blanks.
std::string xml_text(std::string_view text);

}  // namespace sluice::tool
