#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>

#include "base/file.h"
#include "perf/sweep.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/plan/calibrate.h"
#include "sluice/remote/plan/plan_report.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

class PlanCommand : public Command {
 public:
  const char* name() const override { return "plan"; }

  void add_options(Options& options) override {
    options.add("file", file_, "Calibration, which --calibrate writes and a plan reads").required();
    add_calibration(options);
    add_load(options);
    add_fleet(options);
    options.flag("--uncalibrated", is_uncalibrated_,
                 "Plan although the simulation was off by more than 15 % of what was measured");
    options.add("--svg", svg_, "Draw the plan to this file, too");
  }

  Result<int> run() override { return to_.model.name.empty() ? plan() : calibrate_model(); }

 private:
  void add_calibration(Options& options) {
    options.add("--calibrate", to_.model.name,
                "Measure this model of a running daemon, and write it to the file");
    remote_.add_to(options);
    options.add("--http", to_.http, "With --calibrate: load over this address of HTTP, not gRPC");
    to_.add_inputs_to(options);
    options.add("--loads", loads_, "With --calibrate: shares of what the model can answer")
        .shows_default();
    options.add("--batch-rows", measuring_.batch_rows, "With --calibrate: as the model was loaded")
        .between(1, 1 << 20);
    options.add("--max-delay", measuring_.max_delay_ns, "With --calibrate: as the model was loaded")
        .takes_seconds();
    options.add("--load-time", measuring_.load_ns, "With --calibrate: seconds of a load")
        .takes_seconds();
  }

  void add_load(Options& options) {
    const Option rate =
        options.add("--rate", load_.per_second, "Requests a second, at random times").positive();
    Option trace = options.add("--trace", trace_,
                               "Requests of a file: lines of \"arrival_s,model,rows,deadline_s\", "
                               "the first of which says so, or a recording of sluiced");
    trace.excludes(rate);
    options
        .add("--day", load_.day_seconds,
             "Seconds of a day: --rate is its average, between a quiet night, a peak and bursts")
        .positive()
        .needs(rate);
    options.add("--models", load_.num_models, "With --rate: models like the first of the file")
        .between(1, fleet::kMaxTraceModels);
    options.add("--stand-in", stand_in_, "Calibrated model whose times others of the trace take");
    options
        .add("--seconds", seconds_, "Length of a --rate (60), or of each load of --calibrate (20)")
        .positive();
    options.add("--deadline", load_.deadline_ns, "Seconds that a request may take").takes_seconds();
    options.add("--seed", load_.seed, "Seed of all random numbers").shows_default();
  }

  void add_fleet(Options& options) {
    options.add("--p99", goal_.p99_ns, "Goal: seconds that 99 of 100 answers take at most")
        .takes_seconds();
    options.add("--shed", shed_percent_, "Goal: per cent of requests without an answer at most")
        .between(0, 100)
        .shows_default();
    options.add("--machines", machines_,
                "Numbers to try: 8, 1,8,64, or FIRST:LAST:STEP (default: looks for the fewest)");
    options.add("--groups", fleet_.num_groups, "Groups of cores of a machine")
        .between(1, fleet::kMaxGroups)
        .shows_default();
    options.add("--copies", copies_, "Groups of a machine that a model is on (default: all)")
        .between(1, fleet::kMaxGroups);
    options
        .add("--memory", fleet_.memory_bytes,
             "Memory of a machine for models, such as 4GiB; others are unloaded for them (default: "
             "room for all)")
        .takes_size();
    options.add("--route", route_, "To the machine with the least requests, by model, or in turns")
        .one_of({"least", "model", "turns"})
        .shows_default();
    options.add("--link", fleet_.link_ns, "Seconds of the network, each way").takes_seconds();
    options.add("--failures", fleet_.failure_ns, "Seconds between failures of a machine (mean)")
        .takes_seconds();
    options.add("--restart", fleet_.restart_ns, "Seconds that a machine is gone then")
        .takes_seconds();
  }

  Result<int> calibrate_model() {
    std::vector<fleet::CalibratedModel> models;
    if (std::filesystem::exists(file_)) models = SLUICE_TRY(fleet::read_calibration(file_));
    to_.model.server = remote_.client;
    to_.grpc = remote_.client.address;
    measuring_.seconds = seconds_ > 0 ? seconds_ : measuring_.seconds;
    measuring_.loads = SLUICE_TRY(perf::parse_sweep(loads_));
    measuring_.deadline_ns = load_.deadline_ns;
    measuring_.seed = load_.seed;
    const auto client = SLUICE_TRY(remote_.connect());
    const fleet::CalibratedModel model = SLUICE_TRY(calibrate(*client, to_, measuring_));
    std::erase_if(models, [&](const auto& one) { return one.name == model.name; });
    models.push_back(model);
    const std::string json = fleet::calibration_json(models);
    // A file that no plan could read would tell so too late.
    SLUICE_TRY(fleet::parse_calibration(json));
    SLUICE_TRY(write_file_atomically(file_, std::as_bytes(std::span(json))));
    fmt::print("{}", remote_.is_json ? fleet::calibration_json({model}) : calibration_table(model));
    return model.error() <= fleet::kMostError ? 0 : 1;
  }

  Result<fleet::Trace> load_of(const std::vector<fleet::CalibratedModel>& models) {
    if (!trace_.empty()) {
      auto trace = SLUICE_TRY(fleet::read_trace(trace_));
      for (fleet::Arrival& arrival : trace.arrivals) {
        if (arrival.deadline_ns == 0) arrival.deadline_ns = load_.deadline_ns;
      }
      return trace;
    }
    if (load_.per_second == 0) {
      return invalid_argument("name a load: --rate or --trace; or a model to --calibrate");
    }
    load_.seconds = seconds_ > 0 ? seconds_ : load_.seconds;
    const std::string& first = models.front().name;
    if (load_.num_models > 1 && stand_in_.empty()) stand_in_ = first;
    return fleet::generate_trace(load_, first);
  }

  Result<int> plan() {
    const auto calibrated = SLUICE_TRY(fleet::read_calibration(file_));
    const fleet::Trace trace = SLUICE_TRY(load_of(calibrated));
    const auto models = SLUICE_TRY(fleet::ModelsOfTrace::create(calibrated, trace, stand_in_));
    if (models.error() > fleet::kMostError && !is_uncalibrated_) {
      return make_error(
          Code::kFailedPrecondition,
          "{}: the simulation was off by {:.0f} % of what was measured, more than {:.0f} %, so a "
          "larger plan would mean nothing; calibrate again on a quiet machine, or add "
          "--uncalibrated",
          file_, 100 * models.error(), 100 * fleet::kMostError);
    }
    fleet_.route = *fleet::find_route(route_);
    fleet_.num_copies = copies_ > 0 ? copies_ : fleet_.num_groups;
    fleet_.seed = load_.seed;
    goal_.shed = shed_percent_ / 100;
    const auto rows = SLUICE_TRY(rows_of(models, trace));
    const PlanOrigin origin = {trace.origin,   describe_fleet(),       load_.seed,
                               models.error(), models.num_stand_ins(), goal_};
    fmt::print("{}", remote_.is_json ? plan_json(rows, origin) : plan_table(rows, origin));
    if (!svg_.empty()) {
      const std::string svg = draw_plan(rows, origin);
      SLUICE_TRY(write_file_atomically(svg_, std::as_bytes(std::span(svg))));
    }
    return fleet::fewest(rows) != nullptr ? 0 : 1;
  }

  Result<std::vector<fleet::PlanRow>> rows_of(const fleet::ModelsOfTrace& models,
                                              const fleet::Trace& trace) const {
    if (machines_.empty()) return fleet::plan_fewest(models, trace, fleet_, goal_);
    std::vector<int> counts;
    for (const double value : SLUICE_TRY(perf::parse_sweep(machines_))) {
      if (value != std::floor(value) || value > fleet::kMaxMachines) {
        return invalid_argument("--machines {}: write whole numbers up to {}", machines_,
                                fleet::kMaxMachines);
      }
      counts.push_back(static_cast<int>(value));
    }
    std::ranges::sort(counts);
    return fleet::plan_for(models, trace, fleet_, goal_, counts);
  }

  std::string describe_fleet() const {
    const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) / 1e9; };
    std::string text =
        fmt::format("machines of {}, route {}", describe_count(fleet_.num_groups, "group"), route_);
    if (fleet_.memory_bytes > 0) text += fmt::format(", {} bytes for models", fleet_.memory_bytes);
    if (fleet_.link_ns > 0) text += fmt::format(", link {:g} s", seconds(fleet_.link_ns));
    if (fleet_.failure_ns > 0) {
      text += fmt::format(", a failure each {:g} s for {:g} s", seconds(fleet_.failure_ns),
                          seconds(fleet_.restart_ns));
    }
    return text;
  }

  std::string file_;
  RemoteOptions remote_;
  PerfTarget to_;
  CalibrationPlan measuring_;
  std::string loads_ = "0.5,0.8,1.3";
  fleet::GeneratedLoad load_;
  std::string trace_;
  std::string stand_in_;
  double seconds_ = 0;
  fleet::Fleet fleet_;
  std::int32_t copies_ = 0;
  std::string route_ = "least";
  std::string machines_;
  fleet::Goal goal_;
  double shed_percent_ = 1;
  bool is_uncalibrated_ = false;
  std::string svg_;
};

}  // namespace

std::unique_ptr<Command> make_plan_command() { return std::make_unique<PlanCommand>(); }

}  // namespace sluice::tool
