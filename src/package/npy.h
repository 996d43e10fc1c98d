// Tensors in NumPy's .npy files:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <filesystem>
#include <span>

#include "base/result.h"
#include "ir/attribute.h"

namespace sluice::package {

/// Versions 1 to 3, little-endian, C order. The data is a slice of the file's mapping, aligned as
/// it lies there.
/// Fails: kInvalidArgument naming the part of the file that is not supported; kDataLoss if it is
///        truncated.
Result<ir::Constant> read_npy(const std::filesystem::path& path);
Result<ir::Constant> parse_npy(const Bytes& file);

/// Whether NumPy has a name for the type.
bool has_npy_type(ir::ElementType type);

/// Version 1.
/// Requires: `type` is a tensor's of known shape, and has as many bytes as `data`.
/// Fails: kUnimplemented for element types that NumPy has no name for.
Status write_npy(const std::filesystem::path& path, const ir::Type& type,
                 std::span<const std::byte> data);

}  // namespace sluice::package
