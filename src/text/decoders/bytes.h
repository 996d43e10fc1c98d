// Decoders that join pieces: of bytes that are characters only together.
#pragma once

#include <memory>

#include "text/decoders/decoder.h"

namespace sluice::text {

std::unique_ptr<const Decoder> make_byte_level_decoder();
/// "<0xE2>" and its like are bytes; a run of them that is not UTF-8 becomes as many U+FFFD.
std::unique_ptr<const Decoder> make_byte_fallback();
/// Joins all pieces.
std::unique_ptr<const Decoder> make_fuse();

}  // namespace sluice::text
