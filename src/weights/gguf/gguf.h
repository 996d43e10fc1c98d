// Files of ggml's format GGUF, versions 2 and 3, little-endian: counts, metadata, a directory of
// tensors, and their bytes, aligned to `general.alignment`.
// Source: github.com/ggml-org/ggml, docs/gguf.md.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "weights/weights.h"

namespace sluice::weights {

inline constexpr std::string_view kGgufMagic = "GGUF";

struct Gguf {
  nlohmann::json metadata;  ///< an object; keys have dots: "llama.block_count"
  Weights weights;          ///< by the file's names; dimensions outermost first
};

/// The metadata alone: reads no tensors. Fails: as read_gguf.
Result<nlohmann::json> read_gguf_metadata(const Bytes& file);

/// Tensors of f32, f16, bf16 and whole numbers are slices of the file; those of blocks
/// (gguf/block_formats.h) are rewritten as `Blocks`.
/// Fails: kInvalidArgument  naming the key or tensor: a file that ends within a value, more than
///                          256 MiB or 2^23 values before the tensors, lists in lists, texts that
///                          are not UTF-8, a name twice, a shape that its type cannot divide into
///                          blocks, ranges that overlap, are not aligned or reach past the end
///        kUnimplemented    another version, a big-endian file, a type that is not supported
Result<Gguf> read_gguf(const Bytes& file);

}  // namespace sluice::weights
