// The key by which a compiled model is found again.
#pragma once

#include <string>

#include "backend/registry.h"
#include "base/result.h"
#include "compiler/compile_model.h"
#include "options/compile_flags.h"

namespace sluice::compiler {

/// A file name for the package that `flags` make of a file, bytes or a folder. Two keys differ if
/// one of these does: the bytes of the model, or of the folder's config.json; place, size or time
/// of a file of its external data, or of the folder; an option, or a file that one names; the
/// program or a plug-in, by size and time; the instruction set that a backend packs for; a variable
/// SLUICE_..., or the file that one names.
/// Fails: as map_file; kInvalidArgument for a trace, and for options by which a compilation writes
/// more than a package (`--emit`, `--graphs`): a package that is kept would leave that out.
Result<std::string> cache_key(const Source& source, const options::CompileFlags& flags,
                              const backend::BackendRegistry& backends);

/// Whether the options make no more than a package, which may then be kept by its key.
bool is_cacheable(const options::CompileFlags& flags);

}  // namespace sluice::compiler
