// Grammars in GBNF, the notation of llama.cpp.
#pragma once

#include <string_view>

#include "base/result.h"
#include "grammar/rules/expression.h"

namespace sluice::grammar {

/// Rules `name ::= alternatives`, of which "root" is a whole text: "texts", [classes], `.` for any
/// character, names, (groups), *, +, ?, {m,n}, and comments behind #.
/// Fails: kInvalidArgument, with the line, for what is no such text, more than 256 KiB, or groups
///        more than 64 deep.
Result<Rules> read_gbnf(std::string_view text);

}  // namespace sluice::grammar
