#include <filesystem>

#include "sluice/inputs.h"
#include "sluice/model_source.h"
#include "sluice/outputs.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

class InferCommand : public Command {
 public:
  const char* name() const override { return "infer"; }
  const char* summary() const override { return "Run a model of the daemon once on given inputs"; }

  void add_options(CLI::App& app) override {
    app.add_option("model", model_, "Handle, or a name that one loaded model has")->required();
    app.add_option("--input", inputs_, "name=x.npy, name=x.png, name=random or name=zeros")
        ->take_all();
    app.add_option("--shape", shapes_, "name=1,3,224,224: dimensions of a generated input")
        ->take_all();
    app.add_option("--output-dir", output_dir_, "Write each output there as <name>.npy");
    app.add_option("--timeout", timeout_seconds_, "Seconds after which the request is given up")
        ->check(CLI::PositiveNumber);
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
    return show(SLUICE_TRY(client->infer(handle, tensors, options)));
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

  RemoteOptions remote_;
  std::string model_;
  std::vector<std::string> inputs_;
  std::vector<std::string> shapes_;
  std::string output_dir_;
  double timeout_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_infer_command() { return std::make_unique<InferCommand>(); }

}  // namespace sluice::tool
