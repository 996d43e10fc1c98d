// By what a compiled model is found again.
#pragma once

#include <string>

#include "base/result.h"
#include "options/compile_flags.h"

namespace sluice::tool {

/// A file name for the package that `flags` make of the ONNX file or model folder at `path`. Two
/// keys differ if one of these does: the bytes of the file, or of the folder's config.json; size or
/// time of a file of its external data, or of the folder; an option; the program or a plug-in, by
/// size and time; the instruction set that a backend packs for; a variable SLUICE_..., or the file
/// that one names. Fails: as map_file.
Result<std::string> cache_key(const std::string& path, const options::CompileFlags& flags);

}  // namespace sluice::tool
