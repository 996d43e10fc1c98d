// The classification extension: the largest values of an output in place of the output.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "terms/tensors/tensor.h"

namespace sluice::open_inference {

/// The `num_classes` largest values of each row, largest first, as "VALUE:INDEX" or
/// "VALUE:INDEX:LABEL"; at most as many as the row has. NaN counts as less than all numbers. An
/// index counts all values of the row, as with Triton.
struct Classes {
  std::vector<std::int64_t> shape;  ///< the number of rows, if there are rows, and that of classes
  std::vector<std::string> texts;
};

/// `has_rows`: along the first axis; else the output is one row. `labels`: of the classes, by
/// index; may be short or empty, and a label may be empty. Requires: num_classes > 0. Fails:
/// kBadInput for a type other than numbers of 8 bits and more, and for more than 65,536 texts.
Result<Classes> classify(const terms::TensorView& view, bool has_rows, std::int64_t num_classes,
                         std::span<const std::string> labels = {});

}  // namespace sluice::open_inference
