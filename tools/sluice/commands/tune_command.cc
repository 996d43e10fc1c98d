#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "compile/tune/tune.h"
#include "package/package.h"
#include "sluice/cli/command.h"
#include "sluice/model/model_source.h"
#include "sluice/tensors/inputs.h"

namespace sluice::tool {
namespace {

double milliseconds(double ns) { return ns / 1e6; }

void draw_bar(std::string_view phase, double done) {
  constexpr int kWidth = 30;
  const int full = static_cast<int>(done * kWidth);
  fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {:3.0f} % {}", "", full, "", kWidth - full,
             done * 100, phase);
  std::fflush(stderr);
}

class TuneCommand : public Command {
 public:
  const char* name() const override { return "tune"; }

  void add_options(Options& options) override {
    options.add("model", path_, "A .sluice file made by `sluice compile`").required();
    options.add("-o,--output", output_, "File to write (default: the model itself)");
    options.add("--seconds", options_.seconds, "Seconds of measurement").positive().shows_default();
    options.add_threads(options_.num_threads, "Cores to tune for; 0 takes all");
    options.add("--shape", shapes_,
                "Dimensions that the model leaves open: name=1,3,224,224 or N=4");
    options.flag(
        "--all", prints_all_,
        "Print the time of every tactic of every operation; * marks tactics that won twice");
    options.add("--input", inputs_, "As for `sluice run`; other inputs are random (repeatable)")
        .repeatable();
  }

  Result<int> run() override {
    auto executable = SLUICE_TRY(package::read_package(path_));
    const auto signature = package::signature_of(executable.graph);
    const auto sources = SLUICE_TRY(parse_inputs(inputs_, signature, Missing::kRandom));
    const auto tensors =
        SLUICE_TRY(read_inputs(sources, signature, SLUICE_TRY(parse_shapes(shapes_))));
    std::vector<terms::TensorView> views;
    for (const ir::Constant& tensor : tensors) views.push_back(view_of(tensor));

    const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
    if (is_terminal) options_.progress = draw_bar;
    const auto tuning =
        SLUICE_TRY(compile::tune(std::move(executable), views, backend_registry(), options_));
    if (is_terminal) fmt::print(stderr, "\r\033[K");
    // Without a faster tactic the model's own file is not written again.
    const bool is_new = !tuning.report.changed.empty();
    if (is_new || !output_.empty()) {
      SLUICE_TRY(package::write_package(tuning.executable, output_.empty() ? path_ : output_));
    }
    if (prints_all_) print_all(tuning.report);
    print(tuning.report);
    return 0;
  }

 private:
  static const char* text_of(const std::string& way) {
    return way.empty() ? "default" : way.c_str();
  }

  static void print_all(const compile::TuneReport& report) {
    for (const compile::MeasuredGroup& group : report.measured) {
      fmt::print("{} x {}\n", group.count, group.text);
      for (std::size_t way = 0; way < group.outcomes.size(); ++way) {
        const compile::TacticOutcome& outcome = group.outcomes[way];
        // Entry 0 is the tactic of the file; a confirmed one was faster in a second comparison.
        const bool is_best = group.confirmed > 0 && way == group.confirmed;
        fmt::print("  {} {:>10.3f} ms {:>6.3f}  {}\n", is_best ? '*' : ' ',
                   milliseconds(outcome.ns), outcome.ratio, text_of(group.tactics[way]));
      }
    }
  }

  void print(const compile::TuneReport& report) const {
    fmt::print("{}: {} kinds of operations with a choice, {} rounds on {}\n",
               output_.empty() ? path_ : output_, report.num_groups, report.rounds, report.machine);
    if (report.is_simulated) {
      fmt::print("a device is simulated: figures count its work, and are no times of a device\n");
    }
    if (report.changed.empty()) {
      if (report.before_ns > 0) {
        fmt::print(
            "nothing gained: {:.3f} ms before, {:.3f} ms with the tactics that looked faster\n",
            milliseconds(report.before_ns), milliseconds(report.after_ns));
      } else if (report.rounds == 0 && report.num_groups > 0) {
        fmt::print("the time is too short for a comparison; raise --seconds\n");
      } else {
        fmt::print("no tactic was faster than those of the file\n");
      }
      return;
    }
    fmt::print("{:>5} {:>10} {:>10} {:>6}  operation: was -> is\n", "count", "ms", "ms now",
               "gain");
    for (const compile::TunedGroup& group : report.changed) {
      fmt::print("{:>5} {:>10.3f} {:>10.3f} {:>5.2f}x  {}: {} -> {}\n", group.count,
                 milliseconds(group.before_ns), milliseconds(group.after_ns),
                 group.before_ns / group.after_ns, group.text, text_of(group.from),
                 text_of(group.to));
    }
    fmt::print("whole model: {:.3f} ms -> {:.3f} ms, {:.2f}x\n", milliseconds(report.before_ns),
               milliseconds(report.after_ns), report.before_ns / report.after_ns);
  }

  std::string path_;
  std::string output_;
  std::vector<std::string> shapes_;
  std::vector<std::string> inputs_;
  bool prints_all_ = false;
  compile::TuneOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_tune_command() { return std::make_unique<TuneCommand>(); }

}  // namespace sluice::tool
