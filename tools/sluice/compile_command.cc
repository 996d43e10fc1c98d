#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "package/package.h"
#include "sluice/command.h"
#include "sluice/model_source.h"

namespace sluice::tool {
namespace {

class CompileCommand : public Command {
 public:
  const char* name() const override { return "compile"; }
  const char* summary() const override { return "Turn an ONNX file into a .sluice file"; }

  void add_options(CLI::App& app) override {
    options_.add_to(app);
    app.add_option("-o,--output", output_, "Where to write; default: beside the model");
    app.add_option("--cut", options_.cuts,
                   "Start a segment, to be placed on cores of its own, at this node")
        ->delimiter(',');
    app.add_option("--cores", options_.cores, "Cores that each segment wants, in order: 4,1")
        ->delimiter(',');
    app.add_option("--weights", options_.weights,
                   "How exactly matrices of constant weights are kept: bf16 takes half the memory"
                   " and has three significant digits; int8 takes a quarter, is the fastest, and"
                   " rounds to 8 bits what is multiplied with them too")
        ->check(CLI::IsMember({"f32", "bf16", "int8"}))
        ->capture_default_str();
    app.add_flag("!--no-winograd", options_.winograd,
                 "Sum the terms of 3x3 convolutions one by one: results are a digit closer to those"
                 " of other runtimes and come up to three times later");
    app.add_option("--strassen", options_.strassen,
                   "Levels of Strassen's method in products with constant matrices: 1 saves an"
                   " eighth of the multiplications and takes 1.75 times the memory for them, 2"
                   " saves a quarter and takes three times; results move by about 1e-6")
        ->check(CLI::Range(0, 2))
        ->capture_default_str();
    app.add_flag("!--no-pack", pack_, "Keep constants only in their portable form");
  }

  Result<int> run() override {
    if (output_.empty())
      output_ = std::filesystem::path(options_.path).replace_extension(".sluice");
    const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
    const auto executable = SLUICE_TRY(compile_model(options_, pack_, [&](std::string_view phase) {
      if (is_terminal) fmt::print(stderr, "\r\033[K{} ...", phase);
    }));
    if (is_terminal) fmt::print(stderr, "\r\033[Kwrite ...");
    SLUICE_TRY(package::write_package(executable, output_));
    if (is_terminal) fmt::print(stderr, "\r\033[K");
    fmt::print("{}: {} operations, {:.1f} MB\n", output_, executable.graph.main().num_operations(),
               static_cast<double>(std::filesystem::file_size(output_)) / 1e6);
    return 0;
  }

 private:
  ModelOptions options_;
  std::string output_;
  bool pack_ = true;
};

}  // namespace

std::unique_ptr<Command> make_compile_command() { return std::make_unique<CompileCommand>(); }

}  // namespace sluice::tool
