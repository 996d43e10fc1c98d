// NumPy's .npy files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "exec/loaded_model.h"
#include "ir/attribute.h"

namespace sluice::tool {

/// Versions 1 to 3, little-endian, C order.
/// Fails: kInvalidArgument saying what about the file is not understood; kDataLoss if it is cut.
Result<ir::Constant> read_npy(const std::filesystem::path& path);
Result<ir::Constant> parse_npy(const Bytes& file);

/// Version 1. Fails: kUnimplemented for element types that NumPy has no name for.
Status write_npy(const std::filesystem::path& path, const exec::TensorView& tensor);

}  // namespace sluice::tool
