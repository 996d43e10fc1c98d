// Outputs of a model as a command shows them: summarized, or written to files.
#pragma once

#include <string>

#include "exec/loaded_model.h"

namespace sluice::tool {

/// "f32[1,1000]"
std::string type_text(const exec::TensorView& view);

/// Writes `folder`/<name>.npy and prints its path; without a folder prints a line about the tensor:
/// its type, and for floats the range and the first elements.
Status write_output(const std::string& name, const exec::TensorView& view,
                    const std::string& folder);

/// Writes `folder`/<name>.npy; its path.
Result<std::string> save_output(const std::string& name, const exec::TensorView& view,
                                const std::string& folder);

}  // namespace sluice::tool
