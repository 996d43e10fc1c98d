// The weights of a folder as Hugging Face's hub has them: `model.safetensors`, or shards that
// `model.safetensors.index.json` names.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "weights/weights.h"

namespace sluice::weights {

/// Maps the files.
/// Fails: kNotFound         neither file is there, or a shard is missing
///        kInvalidArgument  a damaged file, as read_safetensors; an index that names a shard
///        outside
///                          the folder, or a tensor that its shard does not have
Result<Weights> open_folder(const std::filesystem::path& folder);

/// The files that `open_folder` maps, and the index. Empty without weights.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder);

}  // namespace sluice::weights
