#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>

#include "base/file.h"
#include "options/seconds.h"
#include "perf/clients/engine_target.h"
#include "perf/measure.h"
#include "perf/recording.h"
#include "perf/sweep.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/package_file.h"
#include "sluice/remote/perf/perf_report.h"
#include "sluice/remote/perf/perf_target.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

class PerfCommand : public Command {
 public:
  const char* name() const override { return "perf"; }

  void add_options(Options& options) override {
    options
        .add("model", to_.model.name,
             "Name of a model that a server of the Open Inference Protocol has; with --in-process "
             "a file")
        .required();
    add_target(options);
    add_load(options);
    options.add("--window", window_seconds_, "Seconds of a window").positive().shows_default();
    options
        .add("--windows", measuring_.max_windows,
             "Windows at most; the last 3 that agree are the figures")
        .between(perf::kStableWindows, 10000)
        .shows_default();
    options
        .add(
            "--stability", stability_percent_,
            "Per cent by which throughput and mean latency of 3 windows may differ from their mean")
        .positive()
        .shows_default();
    options.add("--csv", csv_, "Write the figures to this file, too");
    options.flag("-j,--json", remote_.is_json, "Print JSON");
  }

  /// 1 unless every request was answered and every row is stable.
  Result<int> run() override {
    auto loads = SLUICE_TRY(loads_of());
    const auto target = SLUICE_TRY(connect());
    std::vector<ir::Constant> constants;
    std::vector<telemetry::RecordedRequest> recorded;
    if (replay_.empty()) {
      constants = SLUICE_TRY(to_.add_request(*target));
    } else {
      recorded = SLUICE_TRY(perf::read_recording(replay_, to_.model.name));
      form_.arrivals_ns = SLUICE_TRY(perf::add_recorded(recorded, *target));
      form_.num_requests = recorded.size();
      loads = {form_};
    }
    measuring_.window_ns = nanoseconds_of(window_seconds_);
    measuring_.tolerance = stability_percent_ / 100;
    std::vector<perf::Measurement> all;
    for (const perf::LoadForm& load : loads) {
      all.push_back(SLUICE_TRY(perf::measure(*target, load, measuring_)));
      show_progress(loads.size(), all.size());
    }
    fmt::print("{}", remote_.is_json ? perf_json(all) : perf_table(all));
    if (!csv_.empty()) SLUICE_TRY(write_csv(perf_csv(all)));
    return std::ranges::all_of(all, is_sound) ? 0 : 1;
  }

 private:
  void add_target(Options& options) {
    const Option grpc = to_.add_grpc_to(options);
    const Option http = to_.add_http_to(options, grpc);
    Option local = options.flag("--in-process", is_in_process_,
                                "Load the model in this process, instead: no protocol");
    local.excludes(grpc).excludes(http);
    options.add("--model-version", to_.model.version, "Version (default: the server's choice)");
    remote_.add_credentials_to(options);
    options.add("--timeout", timeout_seconds_, "Seconds after which a request has failed")
        .positive()
        .shows_default();
    to_.add_inputs_to(options);
  }

  void add_load(Options& options) {
    const Option concurrency =
        options
            .add("--concurrency", concurrency_,
                 "Closed loop: requests in flight: 8, 1,8,64, or FIRST:LAST:STEP")
            .shows_default();
    Option rate =
        options.add("--rate", rate_,
                    "Open loop: requests a second, in the same form; latencies begin when "
                    "a request is due");
    rate.excludes(concurrency);
    Option replay = options.add(
        "--replay", replay_,
        "File that the daemon recorded: the load is its requests to the model, each at the "
        "time at which it came");
    replay.excludes(rate).excludes(concurrency);
    options.flag("--poisson", form_.is_poisson, "Open loop: random times between requests")
        .needs(rate);
    options.add("--max-in-flight", form_.max_in_flight, "Open loop: requests in flight at most")
        .between(1, 1 << 20)
        .shows_default();
  }

  Result<std::vector<perf::LoadForm>> loads_of() const {
    const bool is_open = !rate_.empty();
    std::vector<perf::LoadForm> loads;
    for (const double value : SLUICE_TRY(perf::parse_sweep(is_open ? rate_ : concurrency_))) {
      perf::LoadForm load = form_;
      if (is_open) {
        load.per_second = value;
      } else if (value != std::floor(value) || value > kMaxConcurrency) {
        return invalid_argument("--concurrency {}: write whole numbers up to {}", concurrency_,
                                kMaxConcurrency);
      } else {
        load.concurrency = static_cast<int>(value);
      }
      loads.push_back(load);
    }
    return loads;
  }

  Result<std::unique_ptr<perf::Target>> connect() {
    const std::int64_t timeout_ns = nanoseconds_of(timeout_seconds_);
    if (is_in_process_) {
      const auto package = SLUICE_TRY(PackageOptions::find(to_.model.name));
      return perf::load_in_process(package.path, timeout_ns);
    }
    to_.model.server = remote_.client;
    return to_.connect(timeout_ns);
  }

  static void show_progress(std::size_t num_loads, std::size_t num_done) {
    if (num_loads > 1) fmt::print(stderr, "{} of {} loads measured\n", num_done, num_loads);
  }

  Status write_csv(const std::string& text) const {
    return write_file_atomically(csv_, std::as_bytes(std::span(text)));
  }

  static bool is_sound(const perf::Measurement& one) {
    return one.is_stable && one.figures.num_failed == 0;
  }

  static constexpr int kMaxConcurrency = 4096;

  PerfTarget to_;
  RemoteOptions remote_;
  bool is_in_process_ = false;
  double timeout_seconds_ = 60;
  std::string concurrency_ = "1";
  std::string rate_;
  std::string replay_;
  perf::LoadForm form_;
  double window_seconds_ = 5;
  double stability_percent_ = 10;
  perf::MeasureOptions measuring_;
  std::string csv_;
};

}  // namespace

std::unique_ptr<Command> make_perf_command() { return std::make_unique<PerfCommand>(); }

}  // namespace sluice::tool
