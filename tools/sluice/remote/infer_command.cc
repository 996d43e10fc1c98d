#include <filesystem>

#include "sluice/inputs.h"
#include "sluice/model_source.h"
#include "sluice/outputs.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"
#include "sluice/remote/repeated.h"

namespace sluice::tool {
namespace {

class InferCommand : public Command {
 public:
  const char* name() const override { return "infer"; }
  const char* summary() const override { return "Run a model of the daemon on given inputs"; }

  void add_options(CLI::App& app) override {
    app.add_option("model", model_, "Handle, or a name that one loaded model has")->required();
    app.add_option("--input", inputs_, "name=x.npy, name=x.png, name=random or name=zeros")
        ->take_all();
    app.add_option("--shape", shapes_, "name=1,3,224,224: dimensions of a generated input")
        ->take_all();
    app.add_option("--output-dir", output_dir_, "Write each output there as <name>.npy");
    app.add_option("--timeout", timeout_seconds_, "Seconds after which the request is given up")
        ->check(CLI::PositiveNumber);
    app.add_option("--repeat", repeat_.count, "Run it so often, over one stream; print figures")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32));
    app.add_option("--in-flight", repeat_.in_flight,
                   "Most requests on their way at a time (default: the model's depth)")
        ->check(CLI::Range(1, 1 << 20));
    remote_.add_to(app);
  }

  Result<int> run() override {
    const auto client = SLUICE_TRY(remote_.connect());
    const std::uint64_t handle = SLUICE_TRY(find_model(*client, model_));
    const auto entries = SLUICE_TRY(client->list_models(handle));
    const package::Signature& signature = entries.at(0).signature;
    const auto sources = SLUICE_TRY(parse_inputs(inputs_, signature, Missing::kRefuse));
    const auto constants =
        SLUICE_TRY(read_inputs(sources, signature, SLUICE_TRY(parse_shapes(shapes_))));
    std::vector<rpc::NamedTensor> tensors;
    for (std::size_t i = 0; i < constants.size(); ++i) {
      tensors.push_back({signature.inputs[i].name, view_of(constants[i])});
    }
    rpc::InferOptions options;
    options.timeout_ns = static_cast<std::int64_t>(timeout_seconds_ * 1e9);
    options.wants_detail = true;
    if (repeat_.count == 0) return show(SLUICE_TRY(client->infer(handle, tensors, options)));
    if (repeat_.in_flight == 0) repeat_.in_flight = entries.at(0).info.depth;
    return show(SLUICE_TRY(infer_repeatedly(*client, handle, tensors, options, repeat_)));
  }

 private:
  Result<int> show(const rpc::InferReply& reply) const {
    if (!output_dir_.empty()) std::filesystem::create_directories(output_dir_);
    if (remote_.is_json) {
      std::vector<std::string> files;
      for (const rpc::NamedTensor& output : reply.outputs) {
        if (output_dir_.empty()) break;
        files.push_back(SLUICE_TRY(save_output(output.name, output.view, output_dir_)));
      }
      print_json(reply, files);
      return 0;
    }
    for (const rpc::NamedTensor& output : reply.outputs) {
      SLUICE_TRY(write_output(output.name, output.view, output_dir_));
    }
    return 0;
  }

  /// The outputs are those of the last answer. 1 if one failed.
  Result<int> show(const RepeatReport& report) const {
    if (!output_dir_.empty() && report.last) {
      std::filesystem::create_directories(output_dir_);
      for (const rpc::NamedTensor& output : report.last->outputs) {
        SLUICE_TRY(save_output(output.name, output.view, output_dir_));
      }
    }
    if (remote_.is_json) {
      print_json(report);
    } else {
      fmt::print("{} answered, {} failed, {:.0f}/s, p50 {}, p99 {}, longest {}\n",
                 report.latencies_ns.size(), report.num_failed, report.per_second(),
                 describe_duration(report.latency_ns(0.5)),
                 describe_duration(report.latency_ns(0.99)),
                 describe_duration(report.latency_ns(1)));
      if (report.num_failed > 0) {
        fmt::print(stderr, "sluice: the first that failed: {}\n",
                   printable(report.first_error.to_string()));
      }
    }
    return report.num_failed > 0 ? 1 : 0;
  }

  RemoteOptions remote_;
  RepeatOptions repeat_ = {0, 0};  ///< 0: not given
  std::string model_;
  std::vector<std::string> inputs_;
  std::vector<std::string> shapes_;
  std::string output_dir_;
  double timeout_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_infer_command() { return std::make_unique<InferCommand>(); }

}  // namespace sluice::tool
