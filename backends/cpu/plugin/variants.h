#pragma once

#include "sluice/variants.h"

namespace sluice::cpu {

/// The extension "sluice.variants/1".
extern const sluice_variants kVariants;

}  // namespace sluice::cpu
