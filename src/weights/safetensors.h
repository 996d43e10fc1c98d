// Files of Hugging Face's format safetensors: 8 bytes of the header's length, little-endian; the
// header, a JSON object of {"dtype", "shape", "data_offsets"} by name; the tensors' bytes.
// Source: github.com/huggingface/safetensors, section "Format" of its README.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "weights/weights.h"

namespace sluice::weights {

/// The tensors of a file, as slices of it. A tensor whose address is no multiple of its element's
/// size is copied.
/// Fails: kInvalidArgument, naming the tensor: a header of more than 100 MB or past the end, a name
///        twice, an unknown type, a shape that does not fit its range, ranges that overlap, leave
///        bytes uncovered or reach past the end.
Result<Weights> read_safetensors(const Bytes& file);

}  // namespace sluice::weights
