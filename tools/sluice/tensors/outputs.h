// Outputs of a model as a command shows them: summarized, or written to files.
#pragma once

#include <string>

#include "exec/loaded_model.h"

namespace sluice::tool {

/// Creates the folder for outputs; does nothing for "".
/// Fails: kInvalidArgument with the folder and the reason.
Status make_output_folder(const std::string& folder);

/// "f32[1,1000]"
std::string type_text(const terms::TensorView& view);

/// Writes `folder`/<name>.npy and prints its path, or <name>.json where NumPy has no such element
/// type; without a folder prints a line about the tensor: its type, and for floats the range and
/// the first elements.
Status write_output(const std::string& name, const terms::TensorView& view,
                    const std::string& folder);

/// Writes the file; its path.
Result<std::string> save_output(const std::string& name, const terms::TensorView& view,
                                const std::string& folder);

}  // namespace sluice::tool
