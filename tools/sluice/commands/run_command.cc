#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "sluice/cli/command.h"
#include "sluice/commands/run_profile.h"
#include "sluice/model/model_source.h"
#include "sluice/model/preprocessing_facts.h"
#include "sluice/tensors/image.h"
#include "sluice/tensors/inputs.h"
#include "sluice/tensors/outputs.h"

namespace sluice::tool {
namespace {

std::span<const float> floats_of(const terms::TensorView& view) {
  return {static_cast<const float*>(view.data), static_cast<std::size_t>(view.size_bytes) / 4};
}

Result<std::vector<std::string>> read_labels(const std::string& path) {
  std::ifstream file(path);
  if (!file) return make_error(Code::kNotFound, "cannot read labels from \"{}\"", path);
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) labels.push_back(line);
  return labels;
}

/// Converts scores to probabilities: unchanged if they sum to one, otherwise by softmax.
/// Rounding keeps the sum of a distribution of floats within 1e-3 of one.
std::vector<double> probabilities_of(std::span<const float> scores) {
  std::vector<double> values(scores.begin(), scores.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const bool is_distribution =
      std::abs(sum - 1.0) < 1e-3 &&
      std::all_of(values.begin(), values.end(), [](double value) { return value >= 0; });
  if (is_distribution || values.empty()) return values;
  const double highest = *std::max_element(values.begin(), values.end());
  double total = 0;
  for (double& value : values) total += value = std::exp(value - highest);
  for (double& value : values) value /= total;
  return values;
}

class RunCommand : public Command {
 public:
  const char* name() const override { return "run"; }

  void add_options(Options& options) override {
    options_.add_to(options);
    options_.add_allowed(options);
    options
        .add("--input", inputs_,
             "name=x.npy, x.json, x.png or x.jpg, name=random or name=zeros; the only input of a "
             "model needs no name; all.npz holds inputs by name")
        .repeatable();
    add_image_options(options, preprocessing_);
    options.add(
        "--output-dir", output_dir_,
        "Write each output to this folder: <name>.npy, or <name>.json for types that NumPy lacks");
    options
        .add("--top", top_,
             "K LABELS: print the K likeliest classes; line N of the file LABELS names class N")
        .takes(1, 2);
    options.flag("--profile", is_profiled_,
                 "Print how long each step takes, and its line in the source");
    options.add("--timeline", timeline_file_,
                "Write when each stream, command list and step runs to this JSON file, for "
                "ui.perfetto.dev");
    options.add("--flame", flame_file_, "Draw the timeline to this SVG file");
    options.flag("--draw", draws_, "Draw the input images with characters");
    options.add_threads(loading_.num_threads, "Cores to use; 0 takes all");
    options
        .add("--executor", executor_,
             "How a run walks the graph; see `sluice compile --help` (default: as compiled)")
        .one_of({"linear", "dataflow", "parallel"});
    options.add(
        "--seed", seed_,
        "Start of random operators' numbers: the same seed gives the same outputs (default: any)");
    options
        .add("--max-loop-iterations", loading_.max_loop_iterations,
             "Fail a run in which a loop takes more iterations")
        .shows_default();
    options
        .add("--max-recorded-bytes", loading_.max_recorded_bytes,
             "Bytes of command lists and plans that the model keeps for shapes of earlier runs")
        .shows_default();
  }

  Result<int> run() override {
    loading_.executor = SLUICE_TRY(exec::parse_executor(executor_));
    loading_.random = exec::RandomSource::create(seed_);
    const auto model = SLUICE_TRY(
        exec::LoadedModel::load(SLUICE_TRY(open_model(options_)), backend_registry(), loading_));
    SLUICE_TRY(fill_preprocessing(model.executable().graph.metadata, preprocessing_));
    const auto sources = SLUICE_TRY(parse_inputs(inputs_, model.signature(), Missing::kRefuse));
    const auto values = SLUICE_TRY(read_values(
        sources, model.signature(), SLUICE_TRY(parse_shapes(options_.shapes)), preprocessing_));
    auto context = SLUICE_TRY(model.create_context());
    SLUICE_TRY(set_values(context, model.signature(), values));
    SLUICE_TRY(is_profiled_ || !timeline_file_.empty() || !flame_file_.empty()
                   ? run_profiled(model, context)
                   : context.run());
    if (draws_) SLUICE_TRY(draw_images(sources));
    SLUICE_TRY(write_outputs(model, context));
    return 0;
  }

 private:
  /// The second run, so that memory and caches are as in later ones.
  Status run_profiled(const exec::LoadedModel& model, exec::Context& context) const {
    SLUICE_TRY(context.run());
    exec::RunTrace trace;
    context.set_trace(&trace);
    const Status ran = context.run();
    context.set_trace(nullptr);
    SLUICE_TRY(Status(ran));
    const std::vector<exec::ListTime> lists = trace.take();
    if (is_profiled_) fmt::print("{}", profile_table(lists, model.executable().graph));
    if (!timeline_file_.empty()) SLUICE_TRY(write_text(timeline_file_, profile_trace(lists)));
    if (!flame_file_.empty()) SLUICE_TRY(write_text(flame_file_, profile_flame(lists)));
    return ok_status();
  }

  static Status write_text(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text << std::flush;
    if (file) return ok_status();
    return make_error(Code::kUnavailable, "cannot write \"{}\"", path);
  }

  static Status draw_images(const std::map<std::string, std::string>& sources) {
    for (const auto& [input, source] : sources) {
      if (is_image_file(source)) fmt::print("{}", draw(SLUICE_TRY(read_image(source, 1))));
    }
    return ok_status();
  }

  Status write_outputs(const exec::LoadedModel& model, const exec::Context& context) const {
    const auto& specs = model.signature().outputs;
    if (!top_.empty()) return print_top(context.output(0));
    SLUICE_TRY(make_output_folder(output_dir_));
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (specs[i].type.is_tensor()) {
        SLUICE_TRY(write_output(specs[i].name, context.output(i), output_dir_));
      } else {
        SLUICE_TRY(write_value(specs[i].name, context.output_value(i)));
      }
    }
    return ok_status();
  }

  /// A sequence item by item: <name>.0, <name>.1, ...
  Status write_value(const std::string& name, const exec::Value& value) const {
    fmt::print("{}: {}\n", name, value.describe());
    if (value.tensor) return write_output(name, value.tensor->view, output_dir_);
    if (value.sequence == nullptr) return ok_status();
    for (std::size_t i = 0; i < value.sequence->items.size(); ++i) {
      SLUICE_TRY(
          write_output(fmt::format("{}.{}", name, i), value.sequence->items[i]->view, output_dir_));
    }
    return ok_status();
  }

  Status print_top(const terms::TensorView& view) const {
    if (view.element != ir::ElementType::kF32) {
      return invalid_argument("--top needs scores of type f32, the output is {}", type_text(view));
    }
    std::size_t wanted = 0;
    const char* end = top_[0].data() + top_[0].size();
    const auto [stop, error] = std::from_chars(top_[0].data(), end, wanted);
    if (stop != end || error != std::errc() || wanted == 0) {
      return invalid_argument("--top {}: give a number above 0", top_[0]);
    }
    std::vector<std::string> labels;
    if (top_.size() > 1) labels = SLUICE_TRY(read_labels(top_[1]));
    const std::vector<double> values = probabilities_of(floats_of(view));
    std::vector<std::size_t> ranking(values.size());
    std::iota(ranking.begin(), ranking.end(), std::size_t{0});
    // Stable, so that classes of one score keep the order of their numbers. NaN is no score: last.
    const auto is_better = [&](std::size_t a, std::size_t b) {
      return std::isnan(values[b]) ? !std::isnan(values[a]) : values[a] > values[b];
    };
    std::stable_sort(ranking.begin(), ranking.end(), is_better);
    ranking.resize(std::min(ranking.size(), wanted));
    for (const std::size_t index : ranking) {
      const std::string label = index < labels.size() ? labels[index] : std::to_string(index);
      fmt::print("{:5.1f} %  {}\n", values[index] * 100, label);
    }
    return ok_status();
  }

  ModelOptions options_;
  std::vector<std::string> inputs_;
  std::string output_dir_;
  std::string executor_;
  std::optional<std::uint64_t> seed_;
  std::string timeline_file_;
  std::string flame_file_;
  std::vector<std::string> top_;
  bool draws_ = false;
  bool is_profiled_ = false;
  Preprocessing preprocessing_;
  exec::LoadOptions loading_;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace sluice::tool
