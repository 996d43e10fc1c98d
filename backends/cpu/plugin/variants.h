#pragma once

#include "sluice/extensions/variants.h"

namespace sluice::cpu {

/// The extension "sluice.variants/1".
extern const sluice_variants kVariants;

/// True if lists of the calling thread must always run pinned, even under CPU contention: the
/// caller compares tactics, and a change of TeamMode would distort the comparison.
bool runs_steadily();

}  // namespace sluice::cpu
