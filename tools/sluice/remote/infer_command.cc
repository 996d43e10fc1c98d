#include <filesystem>
#include <map>
#include <set>

#include "options/seconds.h"
#include "sluice/model/model_source.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/exchange_text.h"
#include "sluice/remote/remote.h"
#include "sluice/remote/repeated.h"
#include "sluice/tensors/inputs.h"
#include "sluice/tensors/outputs.h"

namespace sluice::tool {
namespace {

class InferCommand : public Command {
 public:
  const char* name() const override { return "infer"; }

  void add_options(Options& options) override {
    options.add("model", model_, "Handle, or a name that one loaded model has").required();
    options
        .add("--input", inputs_,
             "name=x.npy, x.json, x.png or x.jpg, name=random, name=zeros or name=exchange:INDEX; "
             "the only input of a model needs no name")
        .repeatable();
    options.add("--shape", shapes_, "Dimensions of a generated input: name=1,3,224,224 or N=4")
        .repeatable();
    add_image_options(options, preprocessing_);
    options.add("--output-dir", output_dir_, "Write each output to this folder as <name>.npy");
    options
        .add("--put", options_.kept_outputs,
             "Put this output into the daemon's exchange and print its index, instead of fetching "
             "it (repeatable)")
        .repeatable();
    options.add("--timeout", timeout_seconds_, "Seconds after which the request is cancelled")
        .positive();
    options
        .add("--repeat", repeat_.count,
             "Number of runs over one stream; prints throughput and latencies")
        .between(std::int64_t{1}, std::int64_t{1} << 32);
    options
        .add("--in-flight", repeat_.in_flight,
             "Maximum number of requests in flight (default: the model's depth)")
        .between(1, 1 << 20);
    remote_.add_to(options);
  }

  Result<int> run() override {
    const auto client = SLUICE_TRY(remote_.connect());
    const std::uint64_t handle = SLUICE_TRY(find_model(*client, model_));
    const auto entries = SLUICE_TRY(client->list_models(handle));
    if (entries.empty())
      return make_error(Code::kNotFound, "model {} was unloaded meanwhile", model_);
    const terms::Signature& signature = entries.at(0).signature;
    auto sources = SLUICE_TRY(parse_inputs(inputs_, signature, Missing::kRefuse));
    const std::map<std::string, std::uint64_t> indexes = SLUICE_TRY(take_indexes(sources));
    const std::set<std::string> left_out = take_defaults(sources);
    const auto constants = SLUICE_TRY(
        read_inputs(sources, signature, SLUICE_TRY(parse_shapes(shapes_)), preprocessing_));
    // Inputs with a default and those in the exchange are not sent, or are sent as an index.
    // `constants` has a stand-in for each, so that it keeps the order of the signature.
    std::vector<terms::NamedTensor> tensors;
    for (std::size_t i = 0; i < constants.size(); ++i) {
      const std::string& name = signature.inputs[i].name;
      if (left_out.contains(name)) continue;
      const auto index = indexes.find(name);
      tensors.push_back({name, view_of(constants[i]), index == indexes.end() ? 0 : index->second});
    }
    rpc::client::InferOptions options = options_;
    options.timeout_ns = nanoseconds_of(timeout_seconds_);
    options.wants_detail = true;
    if (repeat_.count == 0) return show(SLUICE_TRY(client->infer(handle, tensors, options)));
    if (repeat_.in_flight == 0) repeat_.in_flight = entries.at(0).info.depth;
    return show(SLUICE_TRY(infer_repeatedly(*client, handle, tensors, options, repeat_)));
  }

 private:
  /// The inputs whose defaults the daemon has. A generated tensor stands in for each.
  static std::set<std::string> take_defaults(std::map<std::string, std::string>& sources) {
    std::set<std::string> names;
    for (auto& [name, source] : sources) {
      if (source != kDefaultSource) continue;
      names.insert(name);
      source = "zeros";
    }
    return names;
  }

  /// The inputs that the exchange has, by name. A generated tensor stands in for each.
  static Result<std::map<std::string, std::uint64_t>> take_indexes(
      std::map<std::string, std::string>& sources) {
    std::map<std::string, std::uint64_t> indexes;
    for (auto& [name, source] : sources) {
      if (!source.starts_with(kExchangePrefix)) continue;
      indexes[name] = SLUICE_TRY(parse_exchange(source));
      source = "zeros";
    }
    return indexes;
  }

  Result<int> show(const rpc::client::InferReply& reply) const {
    SLUICE_TRY(make_output_folder(output_dir_));
    if (remote_.is_json) {
      std::vector<std::string> files;
      for (const terms::NamedTensor& output : reply.outputs) {
        if (output_dir_.empty()) break;
        files.push_back(output.exchange != 0
                            ? std::string()
                            : SLUICE_TRY(save_output(output.name, output.view, output_dir_)));
      }
      print_json(reply, files);
      return 0;
    }
    for (const terms::NamedTensor& output : reply.outputs) {
      if (output.exchange != 0) {
        fmt::print("{}: exchange:{}\n", printable(output.name), output.exchange);
      } else {
        SLUICE_TRY(write_output(output.name, output.view, output_dir_));
      }
    }
    return 0;
  }

  /// The outputs are those of the last answer. 1 if one failed.
  Result<int> show(const RepeatReport& report) const {
    const perf::Window& figures = report.figures;
    if (!output_dir_.empty() && report.last) {
      SLUICE_TRY(make_output_folder(output_dir_));
      for (const terms::NamedTensor& output : report.last->outputs) {
        SLUICE_TRY(save_output(output.name, output.view, output_dir_));
      }
    }
    if (remote_.is_json) {
      print_json(report);
    } else {
      fmt::print("{} answered, {} failed, {:.0f}/s, p50 {}, p99 {}, longest {}\n",
                 figures.latencies_ns.size(), figures.num_failed, figures.per_second(),
                 describe_duration(figures.latency_ns(0.5)),
                 describe_duration(figures.latency_ns(0.99)),
                 describe_duration(figures.latency_ns(1)));
      if (figures.num_failed > 0) {
        fmt::print(stderr, "sluice: the first that failed: {}\n",
                   printable(figures.first_error.to_string()));
      }
    }
    return figures.num_failed > 0 ? 1 : 0;
  }

  Preprocessing preprocessing_;
  RemoteOptions remote_;
  rpc::client::InferOptions options_;  ///< only the kept outputs
  RepeatOptions repeat_ = {0, 0};      ///< 0: not given
  std::string model_;
  std::vector<std::string> inputs_;
  std::vector<std::string> shapes_;
  std::string output_dir_;
  double timeout_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_infer_command() { return std::make_unique<InferCommand>(); }

}  // namespace sluice::tool
