// Samples of a model's inputs in a folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "package/executable.h"

namespace sluice::tool {

/// The source of each input of a sample, by name, in the form of `read_inputs`.
using Sample = std::map<std::string, std::string>;

/// For a model with one input, every .npy and .png file in `folder` is a sample; else, or where
/// there are none, every folder in it, with a file INPUT.npy or INPUT.png per input. In the order
/// of their names. Fails: kNotFound, kInvalidArgument naming the sample that lacks an input.
Result<std::vector<Sample>> find_samples(const std::string& folder,
                                         const terms::Signature& signature);

}  // namespace sluice::tool
