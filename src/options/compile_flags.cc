#include "options/compile_flags.h"

#include <CLI/CLI.hpp>

#include <algorithm>

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
  options.add("--shape", shapes, "Fix an input's dimensions: name=1,3,224,224 (repeatable)");
  options
      .add("--overridable", overridable,
           "Which initializers that are inputs as well callers may override: names, all, none, or"
           " auto: all if there are at most 16 of at most 64 KiB in all, but no weights of layers"
           " where every initializer is an input. The others are folded")
      .separated_by_commas()
      .shows_default();
  options.add("--backend", backends, "Backends in order of preference")
      .separated_by_commas()
      .shows_default();
  options
      .add("--place", places,
           "Run operations on given backends alone: PATTERN=BACKEND[,BACKEND], first supported"
           " first. PATTERN is a node's name, else an operator, else a glob over names of nodes;"
           " BACKEND may be `host` (repeatable)")
      .repeatable();
  options.flag("!--no-optimize", optimize, "Leave the graph as the file has it");
}

void CompileFlags::add_rest(Options& options) {
  options.add(
      "--operator-times", operator_times,
      "Choose between backends by times that `sluice operator-times` measured and wrote to this"
      " file, instead of by the order of --backend");
  options.add("--cut", cuts, "Start a segment, to be placed on cores of its own, at this node")
      .separated_by_commas();
  options.add("--cores", cores, "Cores that each segment wants, in order: 4,1")
      .separated_by_commas();
  options
      .add("--executor", executor,
           "How a run walks the graph: linear, one segment after another; dataflow, one thread that"
           " keeps all devices busy; parallel, branches side by side on devices and cores; auto"
           " runs the model by each here and keeps the fastest")
      .one_of({"linear", "dataflow", "parallel", "auto"})
      .shows_default();
  options.add("--min-segment", min_segment, "Refuse a segment of fewer operations")
      .at_least(1)
      .shows_default();
  options.add("--max-segments", max_segments, "Refuse more segments; 0 for no limit")
      .at_least(0)
      .shows_default();
  options
      .add("--min-share", min_share,
           "Refuse a backend that runs a smaller part of the operations: 0.05 for 5 %")
      .between(0, 1)
      .shows_default();
  options
      .add("--weights", weights,
           "How exactly matrices of constant weights are kept: bf16 takes half the memory"
           " and has three significant digits; int8 takes a quarter, is the fastest, and"
           " rounds to 8 bits what is multiplied with them too")
      .one_of({"f32", "bf16", "int8"})
      .shows_default();
  options.flag("!--no-winograd", winograd,
               "Sum the terms of 3x3 convolutions one by one: results are a digit closer to those"
               " of other runtimes and come up to three times later");
  options
      .add("--strassen", strassen,
           "Levels of Strassen's method in products with constant matrices: 1 saves an"
           " eighth of the multiplications and takes 1.75 times the memory for them, 2"
           " saves a quarter and takes three times; results move by about 1e-6")
      .between(0, 2)
      .shows_default();
  options.add(
      "--graphs", graphs,
      "Write the graph as text to this folder: as imported, after each pass that changes it,"
      " and as compiled");
  options.flag("!--no-pack", pack, "Keep constants only in their portable form");
  options.flag("--packed-only", packed_only,
               "Leave out the portable form of constants that this machine's kernels read packed:"
               " a smaller package, which machines of another instruction set refuse");
}

Result<CompileFlags> parse_compile_flags(std::span<const std::string> arguments) {
  CLI::App app;
  app.set_help_flag();  // no --help: a library prints nothing
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
