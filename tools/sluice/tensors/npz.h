// Tensors in NumPy's .npz files, zip archives of .npy files:
// https://numpy.org/doc/stable/reference/generated/numpy.savez.html
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "ir/attribute.h"

namespace sluice::tool {

/// The tensor that numpy.savez stored under `name`, in memory of its own. Reads compressed files
/// too.
/// Fails: kNotFound naming the tensors that the file has; kDataLoss for a damaged archive;
/// kInvalidArgument for a tensor over 8 GiB; as package::parse_npy.
Result<ir::Constant> parse_npz(const Bytes& file, std::string_view name);
/// Fails also: as map_file.
Result<ir::Constant> read_npz(const std::filesystem::path& path, std::string_view name);

}  // namespace sluice::tool
