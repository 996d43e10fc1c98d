// A serve-only `sluice`: it runs what another one compiled.
#include "sluice/cli/command.h"
#include "sluice/model/model_source.h"

namespace sluice::tool {

std::vector<std::unique_ptr<Command>> make_compiler_commands() { return {}; }

Result<package::Executable> compile_once(const ModelOptions& options,
                                         const Progress& /*progress*/) {
  return unimplemented(
      "{} is not a .sluice file, and this build has no compiler; compile it with one that has "
      "(SLUICE_ONNX=ON)",
      options.path);
}

}  // namespace sluice::tool
