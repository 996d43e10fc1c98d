#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/text/plural.h"
#include "compile/quantize.h"
#include "compiler/provenance.h"
#include "onnx/import.h"
#include "package/package.h"
#include "sluice/cli/command.h"
#include "sluice/model/model_source.h"
#include "sluice/tensors/agreement.h"
#include "sluice/tensors/inputs.h"
#include "sluice/tensors/samples.h"

namespace sluice::tool {
namespace {

class QuantizeCommand : public Command {
 public:
  const char* name() const override { return "quantize"; }

  void add_options(Options& options) override {
    options_.add_to(options, "An ONNX file");
    options
        .add("--calibration", folder_,
             "Samples of the inputs, which give the ranges of activations: .npy or .png files, or "
             "a folder per sample with a file INPUT.npy per input")
        .required();
    options.add("-o,--output", output_, "File to write (default: MODEL.int8.sluice)");
    options.add("--f32", kept_, "Convolutions that stay in f32, by node name: a,b")
        .separated_by_commas();
    options.add_threads(quantizing_.num_threads, "Cores to use; 0 takes all");
  }

  Result<int> run() override {
    const onnx::ImportOptions importing = {SLUICE_TRY(parse_shapes(options_.shapes))};
    ir::Graph graph = SLUICE_TRY(onnx::import_model(options_.path, importing));
    SLUICE_TRY(compiler::add_source_facts({.path = options_.path}, graph));
    options_.weights = "int8";
    quantizing_.compiling.facts = compiler::compilation_facts(options_);
    quantizing_.compiling.backends = options_.backends;
    quantizing_.compiling.places = options_.places;
    quantizing_.compiling.weights = compile::WeightPrecision::kInt8;
    quantizing_.kept.insert(kept_.begin(), kept_.end());
    auto quantizer =
        SLUICE_TRY(compile::Quantizer::create(std::move(graph), backend_registry(), quantizing_));
    // All samples run twice in f32: once to find ranges, and once beside the finished 8-bit model.
    // Keeping the first run's outputs would take memory for all samples.
    const auto samples = SLUICE_TRY(find_samples(folder_, quantizer.signature()));
    SLUICE_TRY(
        run_samples(quantizer, samples, "calibrate", [](std::size_t) { return ok_status(); }));
    const package::Executable executable = SLUICE_TRY(quantizer.finish());
    if (output_.empty()) {
      output_ = std::filesystem::path(options_.path).replace_extension(".int8.sluice");
    }
    SLUICE_TRY(package::write_package(executable, output_));
    return report(quantizer, samples);
  }

 private:
  /// Runs all samples in f32; `after` is called behind each.
  template <typename After>
  Status run_samples(compile::Quantizer& quantizer, const std::vector<Sample>& samples,
                     const char* phase, const After& after) {
    const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
    const auto dims = SLUICE_TRY(parse_shapes(options_.shapes));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (is_terminal) fmt::print(stderr, "\r\033[K{} {} of {}", phase, i + 1, samples.size());
      tensors_ = SLUICE_TRY(read_inputs(samples[i], quantizer.signature(), dims));
      std::vector<terms::TensorView> views;
      for (const ir::Constant& tensor : tensors_) views.push_back(view_of(tensor));
      const std::string where = samples[i].begin()->second;
      SLUICE_TRY(quantizer.observe(views).with_context(fmt::format("sample \"{}\"", where)));
      SLUICE_TRY(after(i));
    }
    if (is_terminal) fmt::print(stderr, "\r\033[K");
    return ok_status();
  }

  /// What was written is read, and runs the samples beside f32.
  Result<int> report(compile::Quantizer& quantizer, const std::vector<Sample>& samples) {
    exec::LoadOptions loading;
    loading.num_threads = quantizing_.num_threads;
    const auto model = SLUICE_TRY(exec::LoadedModel::load(
        SLUICE_TRY(package::read_package(output_)), backend_registry(), loading));
    auto context = SLUICE_TRY(model.create_context());
    const auto& outputs = quantizer.signature().outputs;
    std::vector<Agreement> agreements(outputs.size());
    SLUICE_TRY(run_samples(quantizer, samples, "compare", [&](std::size_t) -> Status {
      SLUICE_TRY(set_inputs(context, tensors_));
      SLUICE_TRY(context.run());
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (context.output(i).element != ir::ElementType::kF32) continue;
        // Where a shape depends on values, 8 bits may give another one.
        if (context.output(i).dims != quantizer.output(i).dims) continue;
        agreements[i].add(context.output(i), quantizer.output(i));
      }
      return ok_status();
    }));
    fmt::print("{}: {} of {} convolutions in 8 bits, {:.1f} MB\n", output_,
               quantizer.num_quantized(), quantizer.num_convolutions(),
               static_cast<double>(std::filesystem::file_size(output_)) / 1e6);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Agreement& agreement = agreements[i];
      if (agreement.samples() == 0) {
        fmt::print("{}: not compared; only f32 outputs of a fixed shape are\n", outputs[i].name);
        continue;
      }
      fmt::print(
          "{}: error {:.2f} % of the largest, {:.1f} dB signal to noise, same largest in {} of {}, "
          "over {}\n",
          outputs[i].name, agreement.largest_error() * 100, agreement.signal_to_noise(),
          agreement.same_largest(), counted(agreement.rows(), "row"),
          counted(agreement.samples(), "sample"));
    }
    return 0;
  }

  ModelOptions options_;
  std::string folder_;
  std::string output_;
  std::vector<std::string> kept_;
  compile::QuantizeOptions quantizing_;
  std::vector<ir::Constant> tensors_;  // of the sample at hand
};

}  // namespace

std::unique_ptr<Command> make_quantize_command() { return std::make_unique<QuantizeCommand>(); }

}  // namespace sluice::tool
