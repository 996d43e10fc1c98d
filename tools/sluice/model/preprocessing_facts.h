// How images become inputs, as a package remembers it.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "sluice/tensors/image.h"

namespace sluice::tool {

using Facts = std::map<std::string, std::string>;

/// Writes what `preprocessing` sets to the facts "image.resize", "image.mean" and "image.std".
void record_preprocessing(const Preprocessing& preprocessing, Facts& facts);

/// Fills what `preprocessing` leaves open from the facts of a package.
/// Fails: kDataLoss for a fact that holds no numbers.
Status fill_preprocessing(const Facts& facts, Preprocessing& preprocessing);

}  // namespace sluice::tool
