#pragma once

#include <string>
#include <vector>

#include "conv/bytes/byte_conv.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// The pieces in which the operation asks to be computed; the usual ones for none.
ByteConvBlocks byte_conv_blocks(const sluice_op& op, Isa isa);

/// See OpEntry::tactics.
std::vector<std::string> list_byte_conv_tactics(const sluice_op& op, Isa isa, int workers);

}  // namespace sluice::cpu
