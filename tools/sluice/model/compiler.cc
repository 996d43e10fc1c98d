// The functions of `sluice` that need the compiler; builds without the compiler use no_compiler.cc.
#include <utility>

#include "compiler/compile_model.h"
#include "sluice/cli/command.h"
#include "sluice/model/model_source.h"

namespace sluice::tool {

std::vector<std::unique_ptr<Command>> make_compiler_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_compile_command());
  commands.push_back(make_link_command());
  commands.push_back(make_explain_command());
  commands.push_back(make_operator_times_command());
  commands.push_back(make_quantize_command());
  commands.push_back(make_tune_command());
  commands.push_back(make_conformance_command());
  return commands;
}

Result<package::Executable> compile_model(const ModelOptions& options,
                                          std::function<void(std::string_view)> progress) {
  const compiler::Source source = {.path = options.path};
  auto executable = SLUICE_TRY(compiler::compile_model(source, options, backend_registry(),
                                                       {.progress = std::move(progress)}));
  print_warnings(options.path, executable.graph);
  return executable;
}

}  // namespace sluice::tool
