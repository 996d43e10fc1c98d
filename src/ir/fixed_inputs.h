// Initializers that a model's file lists as inputs and import made constants of.
#pragma once

namespace sluice::ir {

/// Key of the graph's metadata: their number. Absent if there are none.
inline constexpr const char* kFixedInputsFact = "fixed_inputs";

}  // namespace sluice::ir
