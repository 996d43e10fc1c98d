#include "options/compile_flags.h"

#include <CLI/CLI.hpp>

#include "options/nearest.h"
#include "options/renamed.h"

namespace sluice::options {
namespace {

/// Every long name of an option, with its dashes.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

Status unknown_argument(const CLI::App& app, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  if (const auto now = find_new_option("compile", name)) {
    return invalid_argument("option \"{}\" is now {}", name, *now);
  }
  const auto names = option_names(app);
  if (const auto nearest = find_nearest(name, names)) {
    return invalid_argument("unknown option \"{}\"; did you mean {}?", name, *nearest);
  }
  return invalid_argument("unknown option \"{}\"; there are {}", name, fmt::join(names, ", "));
}

}  // namespace

void CompileFlags::add_common(Options& options) {
  options.add("--shape", shapes,
              "Fix an input's dimensions, name=1,3,224,224, or a dimension by its name, N=4 "
              "(repeatable)");
  options
      .add("--overridable", overridable,
           "Initializers that callers may override: names, all, none, or auto. auto takes all of "
           "at most 16 initializers of at most 64 KiB together, except weights of layers in a file "
           "that lists every initializer as an input. The compiler folds the others")
      .separated_by_commas()
      .shows_default();
  options.add("--backend", backends, "Backends in order of preference: a,b")
      .separated_by_commas()
      .shows_default();
  options
      .add("--place", places,
           "Run operations only on given backends: PATTERN=BACKEND[,BACKEND], in order of "
           "preference. PATTERN is a node's name, an operator, or a glob over names of nodes; "
           "BACKEND may be `host` (repeatable)")
      .repeatable();
  options.flag("!--no-optimize", optimize, "Leave the graph as it is in the file");
}

void CompileFlags::add_weights(Options& options) {
  options
      .add("--weights", weights,
           "Precision of constant matrices in products. bf16 takes half the memory and keeps three "
           "significant digits; int8 takes a quarter, is fastest, and rounds the other operand to "
           "8 bits, too")
      .one_of({"f32", "bf16", "int8"})
      .shows_default();
}

void CompileFlags::add_kv_cache(Options& options) {
  options
      .add("--kv-cache", kv_cache,
           "Numbers in which a language model keeps keys and values of texts. f16 takes half the "
           "memory and keeps three significant digits; int8 takes little more than a quarter and "
           "rounds each row to 127 steps of its largest number")
      .one_of({"f32", "f16", "int8"})
      .shows_default();
}

void CompileFlags::add_rest(Options& options) {
  options.add("--operator-times", operator_times,
              "Choose backends by the times in this file, which `sluice operator-times` writes, "
              "instead of by the order of --backend");
  options.add("--cut", cuts, "Start a segment, which may have cores of its own, at this node: a,b")
      .separated_by_commas();
  options.add("--cores", cores, "Number of cores for each segment, in order: 4,1")
      .separated_by_commas();
  options
      .add("--executor", executor,
           "How a run walks the graph. linear: one segment after another; dataflow: one thread "
           "keeps all devices busy; parallel: branches run side by side on devices and cores; "
           "auto: the compiler measures each and keeps the fastest")
      .one_of({"linear", "dataflow", "parallel", "auto"})
      .shows_default();
  options.add("--min-segment", min_segment, "Refuse a segment with fewer operations")
      .at_least(1)
      .shows_default();
  options.add("--max-segments", max_segments, "Refuse a model with more segments; 0 sets no limit")
      .at_least(0)
      .shows_default();
  options
      .add("--min-share", min_share,
           "Refuse a backend that runs a smaller share of the operations: 0.05 for 5 %")
      .between(0, 1)
      .shows_default();
  add_weights(options);
  add_kv_cache(options);
  options
      .add("--adapter", adapters,
           "NAME=FOLDER: let texts of a language model ask for this low-rank adapter, a folder of "
           "PEFT with adapter_config.json and adapter_model.safetensors (repeatable)")
      .repeatable();
  options.flag("!--no-winograd", winograd,
               "Compute 3x3 convolutions directly: results are one digit closer to those of other "
               "runtimes, and a convolution takes up to three times as long");
  options
      .add("--strassen", strassen,
           "Levels of Strassen's method in products with constant matrices. 1 saves an eighth of "
           "the multiplications and takes 1.75 times the memory for the matrices; 2 saves a "
           "quarter and takes three times; results change by about 1e-6")
      .between(0, 2)
      .shows_default();
  options.add("--graphs", graphs,
              "Write the graph as text to this folder: as imported, after each pass that changes "
              "it, and as compiled");
  add_kernels(options);
  options.add("--operators", operators,
              "Let the package carry this module, a shared library with operators that the model "
              "uses. The compiler runs its code; a process that loads the package runs it only if "
              "its SHA-256 is allowed");
  options.flag("!--no-pack", pack, "Store constants only in their portable form");
  options.flag("--packed-only", packed_only,
               "Leave out the portable form of constants that kernels read packed: the package is "
               "smaller, and machines with another instruction set refuse it");
}

void CompileFlags::add_kernels(Options& options) {
  options
      .add("--arch", architectures,
           "GPU architectures, such as sm_80,sm_90, that the package holds machine code for, "
           "besides code that the driver translates for any GPU")
      .separated_by_commas();
  options.add(
      "--emit", emit,
      "Write the kernels of a backend to a folder, too, as source, code and a schedule: "
      "cuda=DIR; or with C++ that makes the model an operator of torch: torch-extension=DIR");
  options.add("--code", code,
              "Compile the kernels from the sources in this folder, which --emit wrote and you may "
              "have edited");
}

Result<CompileFlags> parse_compile_flags(std::span<const std::string> arguments) {
  CLI::App app;
  app.set_help_flag();  // no --help: a library prints nothing
  // What is left over gets a better message below than CLI11's.
  app.allow_extras();
  CompileFlags flags;
  Options options(app);
  flags.add_common(options);
  flags.add_rest(options);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return invalid_argument("{}", error.what());
  }
  const auto extras = app.remaining();
  if (!extras.empty()) return unknown_argument(app, extras.front());
  return flags;
}

}  // namespace sluice::options
