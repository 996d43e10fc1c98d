#pragma once

#include "sluice/variants.h"

namespace sluice::cpu {

/// The extension "sluice.variants/1".
extern const sluice_variants kVariants;

/// Whether lists of the calling thread leave it out to look for other ways to run while the pool is
/// strained: somebody compares them.
bool runs_steadily();

}  // namespace sluice::cpu
