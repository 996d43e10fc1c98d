#include "runtime/request/joined_rows.h"
#include "sluice/cli/seconds.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/package_file.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

class DeployCommand : public Command {
 public:
  const char* name() const override { return "deploy"; }

  void add_options(Options& options) override {
    // A function's concurrency is not derived from cores, which it shares.
    load_.depth = 1;
    package_.add_to(options);
    options.add("--name", load_.name, "Name of the function in lists (default: the file's name)");
    options
        .add("--share", function_.share,
             "Weight of the function's time on the cores, among functions of the same priority")
        .between(1, terms::kMaxWeight)
        .shows_default();
    options.add("--priority", function_.priority, "Functions with a higher priority run first")
        .shows_default();
    options
        .add("--depth", load_.depth,
             "Requests that the function runs in one turn, each in a context")
        .between(1, terms::kMaxDepth)
        .shows_default();
    options.add("--queue-limit", load_.queue_limit,
                "Requests that may wait beyond the depth (default: 64 x depth)");
    options
        .add("--batch-rows", function_.batch_rows,
             "Maximum number of rows of waiting requests that run as one, for a model with a "
             "symbolic first dimension and independent rows; 0 runs each request alone")
        .between(0, terms::kMaxBatchRows)
        .shows_default();
    options
        .add("--memory", function_.memory_bytes,
             "Quota for the function's constants and contexts: 64m, 2GiB; 0 sets none")
        .takes_size()
        .shows_default();
    const Option keep_warm =
        options
            .add("--keep-warm", keep_warm_seconds_,
                 "Seconds after the last request until the function gives its memory back")
            .between(0.0, 1e9)
            .shows_default();
    options
        .flag("--always-warm", is_always_warm_,
              "Give memory back only to make room for other functions")
        .excludes(keep_warm);
    options.flag(
        "--cell", is_in_cell_,
        "Run the function in a cell: a process apart from the daemon and from other cells");
    options
        .add("--max-run", max_run_seconds_,
             "Seconds after which a run is stopped; 0 sets no limit (default: the daemon's "
             "max_run_seconds)")
        .between(0.0, 1e9);
    options.add("--seed", load_.seed, "Start of random operators' numbers (default: any)");
    remote_.add_to(options);
  }

  Result<int> run() override {
    function_.keep_warm_ns =
        is_always_warm_ ? terms::kAlwaysWarm : nanoseconds_of(keep_warm_seconds_);
    load_.function = function_;
    if (max_run_seconds_ >= 0) load_.max_run_ns = nanoseconds_of(max_run_seconds_);
    if (is_in_cell_) load_.isolation = terms::Isolation::kProcess;
    if (load_.name.empty()) load_.name = package_.stem();
    const auto client = SLUICE_TRY(remote_.connect());
    const auto file = SLUICE_TRY(package_.find());
    const auto model = SLUICE_TRY(package_.is_by_path() ? client->load(load_, file.path)
                                                        : client->upload(load_, file.path));
    if (remote_.is_json) {
      print_json(model);
    } else {
      fmt::print("{:#x}  {}, on group {}, depth {}, queue limit {}\n", model.info.handle,
                 model.info.name, model.info.group.value(), model.info.depth,
                 model.info.queue_limit);
    }
    return 0;
  }

 private:
  RemoteOptions remote_;
  PackageOptions package_;
  terms::LoadOptions load_;
  terms::FunctionOptions function_;
  double max_run_seconds_ = -1;  ///< below 0: the daemon's
  double keep_warm_seconds_ = 60;
  bool is_always_warm_ = false;
  bool is_in_cell_ = false;
};

}  // namespace

std::unique_ptr<Command> make_deploy_command() { return std::make_unique<DeployCommand>(); }

}  // namespace sluice::tool
