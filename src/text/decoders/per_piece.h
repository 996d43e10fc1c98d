// Decoders that change pieces one by one.
#pragma once

#include <memory>

#include "text/decoders/decoder.h"

namespace sluice::text {

Result<std::unique_ptr<const Decoder>> read_metaspace_decoder(const Field& field);
Result<std::unique_ptr<const Decoder>> read_word_piece_decoder(const Field& field);
Result<std::unique_ptr<const Decoder>> read_bpe_decoder(const Field& field);
Result<std::unique_ptr<const Decoder>> read_strip_decoder(const Field& field);
Result<std::unique_ptr<const Decoder>> read_replace_decoder(const Field& field);

}  // namespace sluice::text
