#include "sluice/remote/commands.h"
#include "sluice/remote/package_file.h"
#include "sluice/remote/remote.h"
#include "sluice/remote/support/field_options.h"

namespace sluice::tool {
namespace {

class DeployCommand : public Command {
 public:
  const char* name() const override { return "deploy"; }

  void add_options(Options& options) override {
    // A function's concurrency is not derived from cores, which it shares.
    load_.depth = 1;
    package_.add_to(options);
    options.add("arguments", program_.arguments,
                "Arguments of a program; -- before the file if one has a dash");
    options.flag("--program", is_program_,
                 "The file is a CUDA program, in one of the daemon's program folders: its input is "
                 "a request's bytes, its output the reply's");
    options
        .flag("--stays", program_.stays,
              "The program takes request after request, each behind its length of 8 bytes, the "
              "lowest first, and answers in the same way")
        .needs(options.find("--program"));
    options.add("--name", load_.name, "Name of the function in lists (default: the file's name)");
    options
        .add("--depth", load_.depth,
             "Requests that the function runs in one turn, each in a context")
        .between(1, terms::kMaxDepth)
        .shows_default();
    add_fields(options, load_, {"queue_limit", "max_run_ns", "request_timeout_ns"});
    add_fields(options, function_);
    options
        .flag("--always-warm", is_always_warm_,
              "Give memory back only to make room for other functions")
        .excludes(options.find("--keep-warm"));
    options.flag(
        "--cell", is_in_cell_,
        "Run the function in a cell: a process apart from the daemon and from other cells");
    options.add("--seed", load_.seed, "Start of random operators' numbers (default: any)");
    remote_.add_to(options);
  }

  Result<int> run() override {
    if (is_always_warm_) function_.keep_warm_ns = terms::kAlwaysWarm;
    load_.function = function_;
    if (is_in_cell_) load_.isolation = terms::Isolation::kProcess;
    if (load_.name.empty()) load_.name = package_.stem();
    const auto client = SLUICE_TRY(remote_.connect());
    const auto model = SLUICE_TRY(is_program_ ? deploy_program(*client) : deploy(*client));
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
  Result<terms::ModelEntry> deploy(rpc::client::Client& client) {
    if (!program_.arguments.empty()) {
      return invalid_argument("\"{}\": arguments belong to a program; add --program",
                              program_.arguments.front());
    }
    const auto file = SLUICE_TRY(package_.find());
    return package_.is_by_path() ? client.load(load_, file.path) : client.upload(load_, file.path);
  }

  Result<terms::ModelEntry> deploy_program(rpc::client::Client& client) {
    load_.function->program = program_;
    return client.load(load_, package_.path());
  }

  RemoteOptions remote_;
  PackageOptions package_;
  terms::LoadOptions load_;
  terms::FunctionOptions function_;
  bool is_always_warm_ = false;
  bool is_in_cell_ = false;
  bool is_program_ = false;
  terms::ProgramOptions program_;
};

}  // namespace

std::unique_ptr<Command> make_deploy_command() { return std::make_unique<DeployCommand>(); }

}  // namespace sluice::tool
