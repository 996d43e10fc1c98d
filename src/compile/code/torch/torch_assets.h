// The templates of assets/, which are in the binary.
#pragma once

#include <span>

#include "base/text/asset.h"

namespace sluice::compile::torch_assets {

/// All, by name. cmake/SluiceAssets.cmake writes the function.
std::span<const Asset> assets();

}  // namespace sluice::compile::torch_assets
