#include "sluice/commands/conformance_case.h"

#include <algorithm>
#include <optional>

#include "base/text/plural.h"
#include "exec/loaded_model.h"
#include "onnx/tensors/value_file.h"
#include "ops/schema.h"
#include "sluice/tensors/inputs.h"

namespace sluice::tool {
namespace {

namespace fs = std::filesystem;

using Values = std::vector<onnx::FileValue>;

/// Old writers kept the bits of bf16 tensors as u16.
void read_as(const ir::Type& wanted, onnx::FileValue& value) {
  if (!value.tensor) return;
  const bool is_bits = wanted.is_tensor() && wanted.element() == ir::ElementType::kBf16 &&
                       value.tensor->type.element() == ir::ElementType::kU16;
  if (is_bits) value.tensor->type = value.tensor->type.with_element(ir::ElementType::kBf16);
}

/// input_0.pb, input_1.pb, ... of a data set, in order, as far as the model has operands for them:
/// some cases keep data for inputs that their model lost.
Result<Values> read_values(const fs::path& data_set, std::string_view prefix,
                           const std::vector<terms::TensorSpec>& specs) {
  Values values;
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

Status set_values(exec::Context& context, const terms::Signature& signature, const Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (signature.inputs[i].type.is_tensor()) {
      SLUICE_TRY(context.set_input(i, view_of(*values[i].tensor)));
    } else {
      SLUICE_TRY(context.set_input_value(
          i, SLUICE_TRY(as_exec_value({values[i].tensor, values[i].sequence}))));
    }
  }
  return ok_status();
}

/// Output `index` of the last run.
onnx::FileValue output_of(const exec::Context& context, const terms::Signature& signature,
                          std::size_t index) {
  if (signature.outputs[index].type.is_tensor()) return {copy_of(context.output(index)), {}};
  const exec::Value& value = context.output_value(index);
  if (value.tensor) return {copy_of(value.tensor->view), {}};
  if (value.sequence == nullptr) return {};
  std::vector<ir::Constant> items;
  for (const auto& item : value.sequence->items) items.push_back(copy_of(item->view));
  return {{}, std::move(items)};
}

/// As for tensors, for values that may be sequences or empty optionals.
std::string find_difference(const onnx::FileValue& got, const onnx::FileValue& expected,
                            const Tolerances& tolerances) {
  if (got.tensor && expected.tensor) {
    return find_difference(view_of(*got.tensor), *expected.tensor, tolerances);
  }
  if (got.tensor || expected.tensor || got.sequence.has_value() != expected.sequence.has_value()) {
    return "it is another kind of value";
  }
  if (!got.sequence) return "";
  if (got.sequence->size() != expected.sequence->size()) {
    return fmt::format("{} items, should be {}", got.sequence->size(), expected.sequence->size());
  }
  for (std::size_t i = 0; i < got.sequence->size(); ++i) {
    const std::string difference =
        find_difference(view_of((*got.sequence)[i]), (*expected.sequence)[i], tolerances);
    if (!difference.empty()) return fmt::format("item {}: {}", i, difference);
  }
  return "";
}

bool draws_random_numbers(const ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.num_subgraphs(); ++i) {
    const ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(i));
    for (const ir::OperationId id : subgraph.order()) {
      const ir::Operation& operation = subgraph.operation(id);
      const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
      if (schema != nullptr && schema->has(ops::kRunState)) return true;
    }
  }
  return false;
}

bool has_type_of(const onnx::FileValue& got, const onnx::FileValue& expected) {
  return got.tensor && expected.tensor && got.tensor->type == expected.tensor->type;
}

/// The data sets of a case, in order.
std::vector<fs::path> data_sets_of(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> children;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.is_directory()) children.push_back(entry.path());
  }
  std::sort(children.begin(), children.end());
  return children;
}

/// A case and whether its outputs depend on random numbers: then only types and shapes are
/// compared.
struct CaseModel {
  exec::LoadedModel model;
  bool is_random;
};

Result<CaseModel> load_case(const fs::path& folder, const CaseOptions& options) {
  ModelOptions source = options.model;
  source.path = (folder / "model.onnx").string();
  source.pack = false;
  auto executable = SLUICE_TRY(compile_model(source, {}));
  const bool is_random = draws_random_numbers(executable.graph);
  exec::LoadOptions loading;
  loading.num_threads = options.num_threads;
  loading.executor = options.executor;
  loading.max_loop_iterations = options.max_loop_iterations;
  return CaseModel{
      SLUICE_TRY(exec::LoadedModel::load(std::move(executable), backend_registry(), loading)),
      is_random};
}

/// The inputs of a data set, as the model takes them.
Result<Values> read_inputs_for(const terms::Signature& signature, const fs::path& data_set) {
  auto inputs = SLUICE_TRY(read_values(data_set, "input", signature.inputs));
  // Inputs without data must be the last ones, and have defaults.
  std::size_t missing = inputs.size();
  while (missing < signature.inputs.size() && signature.inputs[missing].has_default) ++missing;
  if (missing == signature.inputs.size() && inputs.size() <= missing) return inputs;
  return invalid_argument("{}, data for {}", counted(signature.inputs.size(), "input"),
                          inputs.size());
}

/// Some cases keep data of another shape than their model declares.
std::optional<std::string> find_contradiction(const terms::Signature& signature,
                                              const Values& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& input = signature.inputs[i];
    if (!contradicts(input.type, inputs[i])) continue;
    return fmt::format("its data for input \"{}\" is {}, its model takes {}", input.name,
                       inputs[i].tensor->type.to_string(), input.type.to_string());
  }
  return std::nullopt;
}

Outcome compare_outputs(const CaseModel& loaded, const exec::Context& context,
                        const Values& expected, const Tolerances& tolerances) {
  const terms::Signature& signature = loaded.model.signature();
  bool has_types = true;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const onnx::FileValue got = output_of(context, signature, i);
    has_types = has_types && has_type_of(got, expected[i]);
    if (loaded.is_random && has_types) continue;
    const std::string difference = find_difference(got, expected[i], tolerances);
    if (difference.empty()) continue;
    return {Outcome::Kind::kFailed,
            fmt::format("output \"{}\": {}", signature.outputs[i].name, difference)};
  }
  if (!loaded.is_random) return {};
  return {Outcome::Kind::kSkipped,
          "it draws random numbers: types and shapes are right, values are its own"};
}

Result<Outcome> run_data_set(const CaseModel& loaded, const fs::path& data_set,
                             const Tolerances& tolerances) {
  const terms::Signature& signature = loaded.model.signature();
  const auto expected = SLUICE_TRY(read_values(data_set, "output", signature.outputs));
  const std::size_t num_outputs = signature.outputs.size();
  // Data for more outputs than the model has would pass unseen.
  if (fs::exists(data_set / fmt::format("output_{}.pb", num_outputs))) {
    return Outcome{Outcome::Kind::kFailed,
                   fmt::format("it has {}, and data for more", counted(num_outputs, "output"))};
  }
  const auto inputs = SLUICE_TRY(read_inputs_for(signature, data_set));
  if (const auto contradiction = find_contradiction(loaded.model.signature(), inputs))
    return Outcome{Outcome::Kind::kSkipped, *contradiction};
  auto context = SLUICE_TRY(loaded.model.create_context());
  SLUICE_TRY(set_values(context, loaded.model.signature(), inputs));
  SLUICE_TRY(context.run());
  return compare_outputs(loaded, context, expected, tolerances);
}

Result<Outcome> try_case(const fs::path& folder, const CaseOptions& options) {
  const CaseModel loaded = SLUICE_TRY(load_case(folder, options));
  const auto data_sets = data_sets_of(folder);
  if (data_sets.empty()) return Outcome{Outcome::Kind::kSkipped, "it has no data"};
  for (const fs::path& data_set : data_sets) {
    const Outcome outcome = SLUICE_TRY(run_data_set(loaded, data_set, options.tolerances));
    if (outcome.kind != Outcome::Kind::kPassed) return outcome;
  }
  return Outcome{};
}

/// The outputs of one backend for one data set.
Result<Values> outputs_of(const CaseModel& loaded, const fs::path& data_set) {
  const terms::Signature& signature = loaded.model.signature();
  const auto inputs = SLUICE_TRY(read_inputs_for(signature, data_set));
  auto context = SLUICE_TRY(loaded.model.create_context());
  SLUICE_TRY(set_values(context, signature, inputs));
  SLUICE_TRY(context.run());
  Values outputs;
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    outputs.push_back(output_of(context, signature, i));
  }
  return outputs;
}

/// "" if both are errors, or both are values that agree.
std::string find_difference(const Result<Values>& got, const Result<Values>& wanted,
                            const std::string& backend, const CaseOptions& options) {
  if (got.is_ok() == wanted.is_ok() && options.takes_any_values) return "";
  if (!got.is_ok() && !wanted.is_ok()) return "";
  if (!got.is_ok()) return fmt::format("{} runs it: {}", backend, got.status().message());
  if (!wanted.is_ok()) return fmt::format("{} refuses it: {}", backend, wanted.status().message());
  for (std::size_t i = 0; i < got->size(); ++i) {
    const std::string difference = find_difference((*got)[i], (*wanted)[i], options.tolerances);
    if (!difference.empty()) return fmt::format("output {}: {}", i, difference);
  }
  return "";
}

Outcome outcome_of(const Status& status) {
  const bool is_unsupported = status.code() == Code::kUnimplemented;
  return {is_unsupported ? Outcome::Kind::kSkipped : Outcome::Kind::kFailed, status.message()};
}

}  // namespace

Outcome run_case(const fs::path& folder, const CaseOptions& options) {
  const auto outcome = try_case(folder, options);
  return outcome.is_ok() ? *outcome : outcome_of(outcome.status());
}

Outcome run_case_against(const fs::path& folder, const CaseOptions& options,
                         const std::string& backend) {
  CaseOptions other = options;
  other.model.backends = {backend};
  const auto model = load_case(folder, options);
  if (!model.is_ok()) return outcome_of(model.status());
  const auto other_model = load_case(folder, other);
  if (!other_model.is_ok()) return outcome_of(other_model.status());
  for (const fs::path& data_set : data_sets_of(folder)) {
    const std::string difference = find_difference(
        outputs_of(*model, data_set), outputs_of(*other_model, data_set), backend, options);
    if (!difference.empty()) return {Outcome::Kind::kFailed, difference};
  }
  return {};
}

}  // namespace sluice::tool
