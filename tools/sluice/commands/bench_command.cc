#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>

#include "base/text/plural.h"
#include "exec/executors/run_trace.h"
#include "sluice/cli/command.h"
#include "sluice/model/model_source.h"
#include "sluice/tensors/inputs.h"

namespace sluice::tool {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// Resident memory of this process, from /proc/self/statm. Fails: kUnavailable without that file.
Result<std::int64_t> resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total_pages = 0;
  std::int64_t pages = 0;
  if (!(file >> total_pages >> pages))
    return make_error(Code::kUnavailable, "/proc/self/statm cannot be read");
  return pages * ::sysconf(_SC_PAGESIZE);
}

/// Latencies of single runs, in microseconds.
struct Figures {
  double median_us = 0;
  double p90_us = 0;
  double p99_us = 0;
  std::size_t runs = 0;

  static Figures of(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    const auto quantile = [&](double q) {
      return times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))];
    };
    return {quantile(0.5), quantile(0.9), quantile(0.99), times.size()};
  }

  nlohmann::json json(int threads) const {
    return {{"median_us", median_us},
            {"p90_us", p90_us},
            {"p99_us", p99_us},
            {"runs", runs},
            {"threads", threads}};
  }
};

/// A model under measurement, with its inputs.
struct Subject {
  /// Loads it, up to a context that could run.
  static Result<Subject> open(const ModelOptions& options, const exec::LoadOptions& loading) {
    auto model = SLUICE_TRY(
        exec::LoadedModel::load(SLUICE_TRY(open_model(options)), backend_registry(), loading));
    auto context = SLUICE_TRY(model.create_context());
    return Subject{std::move(model), std::move(context), {}};
  }

  /// Gives it inputs, as the command line has them, and runs it once.
  Status run_first(const ModelOptions& options, const std::vector<std::string>& inputs) {
    const auto sources = SLUICE_TRY(parse_inputs(inputs, model.signature(), Missing::kRandom));
    tensors = SLUICE_TRY(
        read_inputs(sources, model.signature(), SLUICE_TRY(parse_shapes(options.shapes))));
    SLUICE_TRY(set_inputs(context, tensors));
    return context.run();
  }

  exec::LoadedModel model;
  exec::Context context;
  std::vector<ir::Constant> tensors;
};

class BenchCommand : public Command {
 public:
  const char* name() const override { return "bench"; }

  void add_options(Options& options) override {
    options_.add_to(options);
    options_.add_allowed(options);
    options.add("--input", inputs_, "As for `sluice run`; other inputs are random (repeatable)")
        .repeatable();
    options
        .add("--with", others_,
             "Run this model, too, after the first in every run, with random inputs (repeatable)")
        .repeatable();
    options.add_threads(num_threads_, "Cores to use; 0 takes all");
    options
        .add("--executor", executor_,
             "How a run walks the graph; see `sluice compile --help` (default: as compiled)")
        .one_of({"linear", "dataflow", "parallel"});
    options
        .add("--seconds", seconds_, "Seconds of measurement, after a tenth of that for warming up")
        .positive()
        .shows_default();
    options.flag("--profiled", is_profiled_, "Measure runs that take a profile");
    options.flag("--json", is_json_, "Print one JSON object");
    options.flag("--open", is_open_,
                 "Measure opening the model instead, up to a context that is ready");
    options.flag("--serve", is_serve_,
                 "Read lines `run SECONDS` from stdin and answer each with a line of JSON");
  }

  Result<int> run() override {
    if (is_open_) return measure_open();
    std::vector<Subject> subjects;
    subjects.push_back(SLUICE_TRY(Subject::open(options_, SLUICE_TRY(loading()))));
    SLUICE_TRY(subjects.back().run_first(options_, inputs_));
    for (const std::string& path : others_) {
      ModelOptions options = options_;
      options.path = path;
      options.shapes.clear();
      subjects.push_back(SLUICE_TRY(Subject::open(options, SLUICE_TRY(loading()))));
      SLUICE_TRY(subjects.back().run_first(options, {}));
    }
    for (Subject& subject : subjects) subject.context.set_trace(is_profiled_ ? &trace_ : nullptr);
    if (is_serve_) return serve(subjects);
    SLUICE_TRY(measure(subjects, seconds_ / 10));
    report(SLUICE_TRY(measure(subjects, seconds_)));
    return 0;
  }

 private:
  Result<exec::LoadOptions> loading() const {
    exec::LoadOptions loading;
    loading.num_threads = num_threads_;
    loading.executor = SLUICE_TRY(exec::parse_executor(executor_));
    return loading;
  }

  /// Measures runs of all models in sequence.
  Result<Figures> measure(std::vector<Subject>& subjects, double seconds) {
    std::vector<double> times;
    const auto start = Clock::now();
    do {
      const auto run_start = Clock::now();
      for (Subject& subject : subjects) SLUICE_TRY(subject.context.run());
      times.push_back(microseconds_since(run_start));
      static_cast<void>(trace_.take());
    } while (microseconds_since(start) < seconds * 1e6);
    return Figures::of(std::move(times));
  }

  void report(const Figures& figures) const {
    if (is_json_) {
      fmt::print("{}\n", figures.json(num_threads_).dump());
      return;
    }
    fmt::print("median {:.1f} us, p90 {:.1f} us, p99 {:.1f} us over {}\n", figures.median_us,
               figures.p90_us, figures.p99_us, counted(figures.runs, "run"));
  }

  Result<int> serve(std::vector<Subject>& subjects) {
    std::string word;
    double seconds = 0;
    while (std::cin >> word >> seconds) {
      if (word != "run")
        return invalid_argument("\"{}\" is not a command; write `run SECONDS`", word);
      nlohmann::json figures = SLUICE_TRY(measure(subjects, seconds)).json(num_threads_);
      figures["resident_bytes"] = SLUICE_TRY(resident_bytes());
      std::cout << figures.dump() << std::endl;
    }
    return 0;
  }

  /// The cost of opening a model, in time and in memory of this process.
  struct Opening {
    double open_us = 0;
    std::int64_t context_bytes = 0;
    std::int64_t used_bytes = 0;      ///< by the context, after a run
    std::int64_t loaded_bytes = 0;    ///< after a run
    std::int64_t unloaded_bytes = 0;  ///< after that
  };

  /// Measures from the unmapped file to a context that is ready; then runs once and closes the
  /// model.
  Result<Opening> open_once() const {
    Opening opening;
    {
      const auto start = Clock::now();
      Subject subject = SLUICE_TRY(Subject::open(options_, SLUICE_TRY(loading())));
      opening.open_us = microseconds_since(start);
      opening.context_bytes = subject.context.memory_bytes();
      SLUICE_TRY(subject.run_first(options_, inputs_));
      opening.used_bytes = subject.context.memory_bytes();
      opening.loaded_bytes = SLUICE_TRY(resident_bytes());
    }
    opening.unloaded_bytes = SLUICE_TRY(resident_bytes());
    return opening;
  }

  /// The time is that of the first opening, which also loads the plug-ins. The retained memory is
  /// the difference between the second and the first opening.
  Result<int> measure_open() const {
    const Opening first = SLUICE_TRY(open_once());
    const Opening second = SLUICE_TRY(open_once());
    const std::int64_t kept_bytes = second.unloaded_bytes - first.unloaded_bytes;
    if (is_json_) {
      fmt::print("{}\n", nlohmann::json{{"open_us", first.open_us},
                                        {"again_us", second.open_us},
                                        {"context_bytes", second.used_bytes},
                                        {"loaded_bytes", second.loaded_bytes},
                                        {"unloaded_bytes", second.unloaded_bytes},
                                        {"kept_bytes", kept_bytes}}
                             .dump());
      return 0;
    }
    const auto megabytes = [](std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
    fmt::print("open to ready: {:.2f} ms, again {:.2f} ms, {:.1f} MB of memory for a context\n",
               first.open_us / 1e3, second.open_us / 1e3, megabytes(first.context_bytes));
    fmt::print("memory: {:.1f} MB with the model loaded, {:.1f} MB after it, {:+.1f} MB kept\n",
               megabytes(second.loaded_bytes), megabytes(second.unloaded_bytes),
               megabytes(kept_bytes));
    return 0;
  }

  ModelOptions options_;
  std::vector<std::string> inputs_;
  std::vector<std::string> others_;
  int num_threads_ = 0;
  std::string executor_;
  double seconds_ = 2;
  bool is_profiled_ = false;
  exec::RunTrace trace_;
  bool is_json_ = false;
  bool is_open_ = false;
  bool is_serve_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_command() { return std::make_unique<BenchCommand>(); }

}  // namespace sluice::tool
