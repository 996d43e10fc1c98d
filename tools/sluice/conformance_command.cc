#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>

#include "exec/loaded_model.h"
#include "onnx/tensor_file.h"
#include "ops/schema.h"
#include "sluice/command.h"
#include "sluice/compare.h"
#include "sluice/inputs.h"
#include "sluice/model_source.h"

namespace sluice::tool {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  enum class Kind { kPassed, kFailed, kSkipped };
  Kind kind = Kind::kPassed;
  std::string text;
};

/// input_0.pb, input_1.pb, ... of a data set, in order.
Result<std::vector<ir::Constant>> read_tensors(const fs::path& data_set, std::string_view prefix) {
  std::vector<ir::Constant> tensors;
  for (int i = 0;; ++i) {
    const fs::path file = data_set / fmt::format("{}_{}.pb", prefix, i);
    if (!fs::exists(file)) return tensors;
    tensors.push_back(SLUICE_TRY(onnx::read_tensor_file(file)));
  }
}

/// Old writers kept the bits of bf16 tensors as u16.
void read_as(const ir::Type& wanted, ir::Constant& tensor) {
  const bool is_bits = wanted.is_tensor() && wanted.element() == ir::ElementType::kBf16 &&
                       tensor.type.element() == ir::ElementType::kU16;
  if (is_bits) tensor.type = tensor.type.with_element(ir::ElementType::kBf16);
}

/// Some cases keep data of another shape than their model declares.
bool contradicts(const ir::Type& declared, const ir::Constant& tensor) {
  const auto dims = declared.static_dims();
  return dims && *dims != *tensor.type.static_dims();
}

bool draws_random_numbers(const ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.num_subgraphs(); ++i) {
    const ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(i));
    for (const ir::OperationId id : subgraph.order()) {
      const ir::Operation& operation = subgraph.operation(id);
      const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
      if (schema != nullptr && schema->has(ops::kRandom)) return true;
    }
  }
  return false;
}

bool has_type_of(const exec::TensorView& got, const ir::Constant& expected) {
  return got.element == expected.type.element() && got.dims == expected.type.static_dims();
}

std::vector<fs::path> sorted_children(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> children;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    children.push_back(entry.path());
  std::sort(children.begin(), children.end());
  return children;
}

/// A folder with model.onnx, or every such folder in it.
void find_cases(const fs::path& folder, std::vector<fs::path>& cases) {
  if (fs::exists(folder / "model.onnx")) {
    cases.push_back(folder);
    return;
  }
  for (const fs::path& child : sorted_children(folder)) {
    if (fs::is_directory(child)) find_cases(child, cases);
  }
}

class ConformanceCommand : public Command {
 public:
  const char* name() const override { return "conformance"; }
  const char* summary() const override {
    return "Run ONNX's test cases: folders of model.onnx and data";
  }

  void add_options(CLI::App& app) override {
    app.add_option("folders", folders_, "Cases, or folders of cases")->required();
    app.add_option("--backend", options_.backends, "Backends in order of preference")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--filter", filter_, "Only cases whose name matches this regular expression");
    app.add_flag("!--no-optimize", options_.optimize, "Leave graphs as their files have them");
    app.add_flag("-v,--verbose", is_verbose_, "List passed cases too");
    app.add_option("--relative", tolerance_.relative, "Relative tolerance of floats")
        ->capture_default_str();
    app.add_option("--absolute", tolerance_.absolute, "Absolute tolerance of floats")
        ->capture_default_str();
  }

  Result<int> run() override {
    std::vector<fs::path> cases;
    for (const std::string& folder : folders_) find_cases(folder, cases);
    if (cases.empty()) return invalid_argument("no model.onnx below {}", folders_.front());
    const std::regex filter(filter_);
    std::map<Outcome::Kind, int> counts;
    for (const fs::path& folder : cases) {
      const std::string case_name = folder.filename().string();
      if (!std::regex_search(case_name, filter)) continue;
      const Outcome outcome = run_case(folder);
      ++counts[outcome.kind];
      report(case_name, outcome);
    }
    fmt::print("{} passed, {} failed, {} skipped\n", counts[Outcome::Kind::kPassed],
               counts[Outcome::Kind::kFailed], counts[Outcome::Kind::kSkipped]);
    return counts[Outcome::Kind::kFailed] == 0 ? 0 : 1;
  }

 private:
  void report(const std::string& case_name, const Outcome& outcome) const {
    if (outcome.kind == Outcome::Kind::kPassed && is_verbose_) fmt::print("pass {}\n", case_name);
    if (outcome.kind == Outcome::Kind::kFailed)
      fmt::print("FAIL {}: {}\n", case_name, outcome.text);
    if (outcome.kind == Outcome::Kind::kSkipped)
      fmt::print("skip {}: {}\n", case_name, outcome.text);
  }

  Outcome run_case(const fs::path& folder) {
    const auto result = try_case(folder);
    if (result.is_ok()) return *result;
    const bool is_unsupported = result.status().code() == Code::kUnimplemented;
    return {is_unsupported ? Outcome::Kind::kSkipped : Outcome::Kind::kFailed,
            result.status().message()};
  }

  Result<Outcome> try_case(const fs::path& folder) {
    options_.path = (folder / "model.onnx").string();
    auto executable = SLUICE_TRY(compile_model(options_, false, {}));
    is_random_ = draws_random_numbers(executable.graph);
    exec::LoadOptions loading;
    loading.num_threads = 1;
    const auto model =
        SLUICE_TRY(exec::LoadedModel::load(std::move(executable), backend_registry(), loading));
    int num_data_sets = 0;
    for (const fs::path& data_set : sorted_children(folder)) {
      if (!fs::is_directory(data_set)) continue;
      const Outcome outcome = SLUICE_TRY(run_data_set(model, data_set));
      if (outcome.kind != Outcome::Kind::kPassed) return outcome;
      ++num_data_sets;
    }
    if (num_data_sets == 0) return Outcome{Outcome::Kind::kSkipped, "it has no data"};
    return Outcome{};
  }

  Result<Outcome> run_data_set(const exec::LoadedModel& model, const fs::path& data_set) const {
    auto inputs = SLUICE_TRY(read_tensors(data_set, "input"));
    auto expected = SLUICE_TRY(read_tensors(data_set, "output"));
    auto context = SLUICE_TRY(model.create_context());
    const std::size_t num_inputs = model.signature().inputs.size();
    if (inputs.size() < num_inputs) {
      return invalid_argument("{} inputs, data for {}", num_inputs, inputs.size());
    }
    inputs.resize(num_inputs);  // some cases keep data for inputs that their model lost
    for (std::size_t i = 0; i < num_inputs; ++i) {
      const auto& input = model.signature().inputs[i];
      read_as(input.type, inputs[i]);
      if (contradicts(input.type, inputs[i])) {
        return Outcome{Outcome::Kind::kSkipped,
                       fmt::format("its data for input \"{}\" is {}, its model takes {}",
                                   input.name, inputs[i].type.to_string(), input.type.to_string())};
      }
    }
    SLUICE_TRY(set_inputs(context, inputs));
    SLUICE_TRY(context.run());
    bool has_types = true;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      read_as(model.signature().outputs[i].type, expected[i]);
      has_types = has_types && has_type_of(context.output(i), expected[i]);
      if (is_random_ && has_types) continue;
      const std::string difference = find_difference(context.output(i), expected[i], tolerance_);
      if (difference.empty()) continue;
      return Outcome{
          Outcome::Kind::kFailed,
          fmt::format("output \"{}\": {}", model.signature().outputs[i].name, difference)};
    }
    if (is_random_) {
      return Outcome{Outcome::Kind::kSkipped,
                     "it draws random numbers: types and shapes are right, values are its own"};
    }
    return Outcome{};
  }

  std::vector<std::string> folders_;
  ModelOptions options_;
  std::string filter_;
  bool is_verbose_ = false;
  bool is_random_ = false;  ///< the case being run
  Tolerance tolerance_;
};

}  // namespace

std::unique_ptr<Command> make_conformance_command() {
  return std::make_unique<ConformanceCommand>();
}

}  // namespace sluice::tool
