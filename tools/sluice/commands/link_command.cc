#include <filesystem>

#include "base/text/plural.h"
#include "compiler/compile_model.h"
#include "package/draft.h"
#include "sluice/cli/command.h"
#include "sluice/model/model_source.h"

namespace sluice::tool {
namespace {

class LinkCommand : public Command {
 public:
  const char* name() const override { return "link"; }

  void add_options(Options& options) override {
    options
        .add("models", models_,
             "NAME=FILE.onnx for each model; the result calls inputs and outputs NAME.input and "
             "NAME.output")
        .required();
    options
        .add("--edge", edges_,
             "Feed an output to an input of another model: encoder.y=decoder.x. An output may have "
             "several edges, an input one; edges form no circle (repeatable)")
        .repeatable();
    options
        .add("--expose", kept_,
             "Make an output that has edges an output of the whole, too: encoder.y (repeatable)")
        .repeatable();
    options.add("-o,--output", output_, "File to write").required();
    flags_.add_common(options);
    flags_.add_rest(options);
  }

  Result<int> run() override {
    std::vector<compiler::NamedSource> sources;
    for (const std::string& text : models_) {
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos || equals == 0) {
        return invalid_argument("\"{}\" is not a model; write it as NAME=FILE.onnx", text);
      }
      sources.push_back({text.substr(0, equals), {.path = text.substr(equals + 1)}});
    }
    package::Draft draft = SLUICE_TRY(package::Draft::create(output_));
    const auto executable = SLUICE_TRY(compiler::compile_linked(
        sources, {edges_, kept_}, flags_, backend_registry(), {.draft = &draft}));
    SLUICE_TRY(draft.finish(executable));
    const auto segments = SLUICE_TRY(package::segments_of(executable));
    fmt::print("{}: {}, {}, {:.1f} MB\n", output_, counted(sources.size(), "model"),
               counted(segments.size(), "segment"),
               static_cast<double>(std::filesystem::file_size(output_)) / 1e6);
    return 0;
  }

 private:
  options::CompileFlags flags_;
  std::vector<std::string> models_;
  std::vector<std::string> edges_;
  std::vector<std::string> kept_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_link_command() { return std::make_unique<LinkCommand>(); }

}  // namespace sluice::tool
