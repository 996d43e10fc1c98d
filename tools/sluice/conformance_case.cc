#include "sluice/conformance_case.h"

#include <algorithm>
#include <optional>

#include "exec/loaded_model.h"
#include "onnx/tensor_file.h"
#include "ops/schema.h"
#include "sluice/inputs.h"

namespace sluice::tool {
namespace {

namespace fs = std::filesystem;

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

struct CaseModel {
  exec::LoadedModel model;
  bool is_random;
};

Result<CaseModel> load_case(const fs::path& folder, ModelOptions options) {
  options.path = (folder / "model.onnx").string();
  auto executable = SLUICE_TRY(compile_model(options, false, {}));
  const bool is_random = draws_random_numbers(executable.graph);
  exec::LoadOptions loading;
  loading.num_threads = 1;
  return CaseModel{
      SLUICE_TRY(exec::LoadedModel::load(std::move(executable), backend_registry(), loading)),
      is_random};
}

/// The inputs of a data set, as the model takes them.
Result<std::vector<ir::Constant>> read_inputs_for(const package::Signature& signature,
                                                  const fs::path& data_set) {
  auto inputs = SLUICE_TRY(read_tensors(data_set, "input"));
  const std::size_t num_inputs = signature.inputs.size();
  if (inputs.size() < num_inputs)
    return invalid_argument("{} inputs, data for {}", num_inputs, inputs.size());
  inputs.resize(num_inputs);  // some cases keep data for inputs that their model lost
  for (std::size_t i = 0; i < num_inputs; ++i) read_as(signature.inputs[i].type, inputs[i]);
  return inputs;
}

/// Some cases keep data of another shape than their model declares.
std::optional<std::string> find_contradiction(const package::Signature& signature,
                                              const std::vector<ir::Constant>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& input = signature.inputs[i];
    if (!contradicts(input.type, inputs[i])) continue;
    return fmt::format("its data for input \"{}\" is {}, its model takes {}", input.name,
                       inputs[i].type.to_string(), input.type.to_string());
  }
  return std::nullopt;
}

Outcome compare_outputs(const CaseModel& loaded, const exec::Context& context,
                        std::vector<ir::Constant> expected, const Tolerances& tolerances) {
  const std::size_t num_outputs = loaded.model.signature().outputs.size();
  if (expected.size() > num_outputs) {
    return {Outcome::Kind::kFailed,
            fmt::format("it has {} outputs, data for {}", num_outputs, expected.size())};
  }
  bool has_types = true;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& output = loaded.model.signature().outputs[i];
    read_as(output.type, expected[i]);
    has_types = has_types && has_type_of(context.output(i), expected[i]);
    if (loaded.is_random && has_types) continue;
    const std::string difference = find_difference(context.output(i), expected[i], tolerances);
    if (difference.empty()) continue;
    return {Outcome::Kind::kFailed, fmt::format("output \"{}\": {}", output.name, difference)};
  }
  if (!loaded.is_random) return {};
  return {Outcome::Kind::kSkipped,
          "it draws random numbers: types and shapes are right, values are its own"};
}

Result<Outcome> run_data_set(const CaseModel& loaded, const fs::path& data_set,
                             const Tolerances& tolerances) {
  auto expected = SLUICE_TRY(read_tensors(data_set, "output"));
  const auto inputs = SLUICE_TRY(read_inputs_for(loaded.model.signature(), data_set));
  if (const auto contradiction = find_contradiction(loaded.model.signature(), inputs))
    return Outcome{Outcome::Kind::kSkipped, *contradiction};
  auto context = SLUICE_TRY(loaded.model.create_context());
  SLUICE_TRY(set_inputs(context, inputs));
  SLUICE_TRY(context.run());
  return compare_outputs(loaded, context, std::move(expected), tolerances);
}

Result<Outcome> try_case(const fs::path& folder, const CaseOptions& options) {
  const CaseModel loaded = SLUICE_TRY(load_case(folder, options.model));
  const auto data_sets = data_sets_of(folder);
  if (data_sets.empty()) return Outcome{Outcome::Kind::kSkipped, "it has no data"};
  for (const fs::path& data_set : data_sets) {
    const Outcome outcome = SLUICE_TRY(run_data_set(loaded, data_set, options.tolerances));
    if (outcome.kind != Outcome::Kind::kPassed) return outcome;
  }
  return Outcome{};
}

/// What one backend makes of one data set.
Result<std::vector<ir::Constant>> outputs_of(const CaseModel& loaded, const fs::path& data_set) {
  const auto inputs = SLUICE_TRY(read_inputs_for(loaded.model.signature(), data_set));
  auto context = SLUICE_TRY(loaded.model.create_context());
  SLUICE_TRY(set_inputs(context, inputs));
  SLUICE_TRY(context.run());
  std::vector<ir::Constant> outputs;
  for (std::size_t i = 0; i < loaded.model.signature().outputs.size(); ++i) {
    const exec::TensorView view = context.output(i);
    const auto* bytes = static_cast<const std::byte*>(view.data);
    outputs.push_back(
        {ir::Type::tensor(view.element, ir::Shape(view.dims.begin(), view.dims.end())),
         Bytes::own(std::vector<std::byte>(bytes, bytes + view.size_bytes))});
  }
  return outputs;
}

/// "" if both are errors, or both are values that agree.
std::string find_difference(const Result<std::vector<ir::Constant>>& got,
                            const Result<std::vector<ir::Constant>>& wanted,
                            const std::string& backend, const CaseOptions& options) {
  if (got.is_ok() == wanted.is_ok() && options.takes_any_values) return "";
  if (!got.is_ok() && !wanted.is_ok()) return "";
  if (!got.is_ok()) return fmt::format("{} runs it: {}", backend, got.status().message());
  if (!wanted.is_ok()) return fmt::format("{} refuses it: {}", backend, wanted.status().message());
  for (std::size_t i = 0; i < got->size(); ++i) {
    const ir::Constant& output = (*got)[i];
    const exec::TensorView view = view_of(output);
    const std::string difference = find_difference(view, (*wanted)[i], options.tolerances);
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
  ModelOptions other = options.model;
  other.backends = {backend};
  const auto model = load_case(folder, options.model);
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
