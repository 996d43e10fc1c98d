#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/system/heap.h"
#include "base/text/plural.h"
#include "compiler/compile_model.h"
#include "package/draft.h"
#include "sluice/cli/command.h"
#include "sluice/model/model_source.h"
#include "sluice/model/preprocessing_facts.h"
#include "sluice/tensors/inputs.h"

namespace sluice::tool {
namespace {

class CompileCommand : public Command {
 public:
  const char* name() const override { return "compile"; }

  void add_options(Options& options) override {
    options_.add_to(
        options,
        "An ONNX file, whose external weights lie in its folder, a GGUF file, or a folder with "
        "config.json and safetensors");
    const Option output =
        options.add("-o,--output", output_, "File to write (default: beside the model)");
    options
        .flag("--cached", is_cached_,
              "Write to the cache of compiled models, unless it is there, and print the path")
        .excludes(output);
    options_.add_rest(options);
    add_image_options(options, preprocessing_);
  }

  Result<int> run() override {
    if (is_cached_) {
      fmt::print("{}\n", SLUICE_TRY(compile_into_cache(options_)).string());
      return 0;
    }
    if (output_.empty())
      output_ = std::filesystem::path(options_.path).replace_extension(".sluice");
    return_large_blocks();
    const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
    // Before the compilation: a file that cannot be written fails at once.
    package::Draft draft = SLUICE_TRY(package::Draft::create(output_));
    compiler::Outcome outcome = {.draft = &draft};
    record_preprocessing(preprocessing_, outcome.facts);
    outcome.progress = [&](std::string_view phase) {
      if (is_terminal) fmt::print(stderr, "\r\033[K{} ...", phase);
    };
    const auto executable = SLUICE_TRY(compiler::compile_model(
        {.path = options_.path}, options_, backend_registry(), std::move(outcome)));
    print_warnings(options_.path, executable.graph);
    if (is_terminal) fmt::print(stderr, "\r\033[Kwrite ...");
    SLUICE_TRY(draft.finish(executable));
    if (is_terminal) fmt::print(stderr, "\r\033[K");
    fmt::print("{}: {}, {:.1f} MB\n", output_,
               counted(executable.graph.main().num_operations(), "operation"),
               static_cast<double>(std::filesystem::file_size(output_)) / 1e6);
    return 0;
  }

 private:
  ModelOptions options_;
  std::string output_;
  bool is_cached_ = false;
  Preprocessing preprocessing_;  // recorded for `sluice run`
};

}  // namespace

std::unique_ptr<Command> make_compile_command() { return std::make_unique<CompileCommand>(); }

}  // namespace sluice::tool
