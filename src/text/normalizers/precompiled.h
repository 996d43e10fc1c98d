// Sentencepiece's table of replacements ("precompiled_charsmap").
#pragma once

#include <memory>

#include "text/normalizers/normalizer.h"

namespace sluice::text {

/// Format, in base64: the size of a double array in bytes (u32, little endian), the array (u32
/// each, as Darts-clone writes it), then texts that end with a zero byte; the array maps keys to
/// offsets. Fails: kInvalidArgument for a damaged table.
Result<std::unique_ptr<const Normalizer>> read_precompiled(const Field& field);

}  // namespace sluice::text
