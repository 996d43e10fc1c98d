// One instruction from its tokens.
#pragma once

#include "emulator/ptx/text/lexer.h"
#include "emulator/ptx/text/statement.h"

namespace sluice::cuda::ptx {

/// Largest number of operands of an instruction, and of parts of a vector or of a call's list.
inline constexpr std::size_t kMaxOperands = 64;

/// Reads up to and with ";". `statement` is reused to keep its memory. Throws Refusal.
void parse_statement(Lexer& lexer, Statement* statement);

}  // namespace sluice::cuda::ptx
