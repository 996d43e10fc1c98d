// A form that carries files: multipart/form-data (RFC 7578), as `curl -F` and browsers send it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::http {

/// A field of a form, or a file.
struct FormPart {
  std::string name;
  std::string_view bytes;  ///< of the body
};

/// Whether a body is meant as a form: its first line is "--" and the boundary, which no JSON begins
/// with. That line counts, not a field of the head, so the two cannot disagree.
inline bool is_form(std::string_view body) { return body.starts_with("--"); }

/// The parts in their order, each with a name of its own. Takes time linear in the body.
/// Fails: kInvalidArgument naming the part, for a boundary or a head that is too long or broken,
///        for a part that has no name, is a form itself, is in a transfer encoding or has the name
///        of another, for more than `most` parts, and for bytes behind the last delimiter.
Result<std::vector<FormPart>> read_form(std::string_view body, std::size_t most);

}  // namespace sluice::http
