#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>

#include "exec/loaded_model.h"
#include "onnx/value_file.h"
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

/// Old writers kept the bits of bf16 tensors as u16.
void read_as(const ir::Type& wanted, onnx::FileValue& value) {
  if (!value.tensor) return;
  const bool is_bits = wanted.is_tensor() && wanted.element() == ir::ElementType::kBf16 &&
                       value.tensor->type.element() == ir::ElementType::kU16;
  if (is_bits) value.tensor->type = value.tensor->type.with_element(ir::ElementType::kBf16);
}

/// input_0.pb, input_1.pb, ... of a data set, in order, as far as the model has operands for them.
/// Some cases keep data for inputs that their model lost.
Result<std::vector<onnx::FileValue>> read_values(const fs::path& data_set, std::string_view prefix,
                                                 const std::vector<package::TensorSpec>& specs) {
  std::vector<onnx::FileValue> values;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const fs::path file = data_set / fmt::format("{}_{}.pb", prefix, i);
    if (!fs::exists(file)) return values;
    values.push_back(SLUICE_TRY(onnx::read_value_file(file, specs[i].type)));
    read_as(specs[i].type, values.back());
  }
  return values;
}

/// Some cases keep data of another shape than their model declares.
bool contradicts(const ir::Type& declared, const onnx::FileValue& value) {
  const auto dims = declared.static_dims();
  return dims && value.tensor && *dims != *value.tensor->type.static_dims();
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

Status set_input(exec::Context& context, std::size_t index, const ir::Type& type,
                 const onnx::FileValue& value) {
  if (type.is_tensor()) return context.set_input(index, view_of(*value.tensor));
  exec::Value given;
  if (value.tensor) given.tensor = SLUICE_TRY(exec::copy_tensor(view_of(*value.tensor)));
  if (value.sequence) given.sequence = std::make_shared<exec::Sequence>();
  for (const ir::Constant& item : value.sequence.value_or(std::vector<ir::Constant>())) {
    given.sequence->element = item.type.element();
    given.sequence->items.push_back(SLUICE_TRY(exec::copy_tensor(view_of(item))));
  }
  return context.set_input_value(index, std::move(given));
}

/// As find_difference, for what may be a sequence or empty.
std::string find_value_difference(const exec::Value& got, const onnx::FileValue& expected,
                                  const Tolerance& tolerance) {
  if (expected.tensor && got.tensor) {
    return find_difference(got.tensor->view, *expected.tensor, tolerance);
  }
  if (!expected.sequence || !got.sequence) {
    const bool is_empty = !expected.tensor && !expected.sequence && got.is_empty();
    return is_empty ? "" : fmt::format("got {}, should be another kind of value", got.describe());
  }
  const auto& items = got.sequence->items;
  if (items.size() != expected.sequence->size()) {
    return fmt::format("got {} items, should be {}", items.size(), expected.sequence->size());
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string difference =
        find_difference(items[i]->view, (*expected.sequence)[i], tolerance);
    if (!difference.empty()) return fmt::format("item {}: {}", i, difference);
  }
  return "";
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
    const package::Signature& signature = model.signature();
    const auto inputs = SLUICE_TRY(read_values(data_set, "input", signature.inputs));
    const auto expected = SLUICE_TRY(read_values(data_set, "output", signature.outputs));
    auto context = SLUICE_TRY(model.create_context());
    if (inputs.size() < signature.inputs.size()) {
      return invalid_argument("{} inputs, data for {}", signature.inputs.size(), inputs.size());
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& input = signature.inputs[i];
      if (!contradicts(input.type, inputs[i])) continue;
      return Outcome{
          Outcome::Kind::kSkipped,
          fmt::format("its data for input \"{}\" is {}, its model takes {}", input.name,
                      inputs[i].tensor->type.to_string(), input.type.to_string())};
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      SLUICE_TRY(set_input(context, i, signature.inputs[i].type, inputs[i]));
    }
    SLUICE_TRY(context.run());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const bool is_tensor = signature.outputs[i].type.is_tensor();
      if (is_random_ && is_tensor && has_type_of(context.output(i), *expected[i].tensor)) continue;
      const std::string difference =
          is_tensor ? find_difference(context.output(i), *expected[i].tensor, tolerance_)
                    : find_value_difference(context.output_value(i), expected[i], tolerance_);
      if (difference.empty()) continue;
      return Outcome{Outcome::Kind::kFailed,
                     fmt::format("output \"{}\": {}", signature.outputs[i].name, difference)};
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
