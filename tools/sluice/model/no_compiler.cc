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

Result<std::map<std::string, Bytes>> read_gguf_text(const Bytes& /*file*/) {
  return unimplemented(
      "this build reads no GGUF files; one with the compiler does (SLUICE_ONNX=ON)");
}

}  // namespace sluice::tool
