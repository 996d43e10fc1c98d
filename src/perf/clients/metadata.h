// A model's metadata, as a server of the Open Inference Protocol gives them in JSON.
#pragma once

#include <string_view>

#include "base/result.h"
#include "terms/tensors/signature.h"

namespace sluice::perf {

/// The text is from outside. A size of -1 becomes a symbol.
/// Takes at most 4 MiB, 1,024 inputs, 1,024 outputs and 64 sizes of a tensor.
/// Fails: kInvalidArgument naming the field; as spec_of.
Result<terms::Signature> parse_metadata(std::string_view text);

}  // namespace sluice::perf
