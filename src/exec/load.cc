#include <algorithm>
#include <numeric>
#include <utility>

#include "exec/aligned_buffer.h"
#include "exec/model_state.h"

namespace sluice::exec {

std::shared_ptr<const StagePlan> PlanCache::find(const RunKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto it = plans_.find(key);
  return it == plans_.end() ? nullptr : it->second;
}

void PlanCache::insert(const RunKey& key, std::shared_ptr<const StagePlan> plan) {
  const std::lock_guard lock(mutex_);
  if (!plans_.emplace(key, std::move(plan)).second) return;
  order_.push_back(key);
  if (order_.size() <= kMostPlans) return;
  plans_.erase(order_.front());
  order_.pop_front();
}

namespace {

/// Constants that no kernel gets in packed form are read as they lie in the file: check them now.
Status verify_constants(const ModelState& model) {
  const ir::Subgraph& main = model.main();
  std::vector<bool> is_needed(main.num_operands(), false);
  for (const ir::OperandId id : main.outputs) is_needed[id.index()] = true;
  for (std::size_t at = 0; at < main.order().size(); ++at) {
    const ir::Operation& operation = main.operation(main.order()[at]);
    const auto packed = model.packed.of(at);
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      const bool is_packed = i < packed.size() && !packed[i].empty();
      const ir::OperandId id = operation.inputs[i];
      if (id.is_valid() && !is_packed) is_needed[id.index()] = true;
    }
    if (!operation.body) continue;
    for (const ir::OperandId id : operation.body->inputs) is_needed[id.index()] = true;
  }
  for (std::size_t i = 0; i < is_needed.size(); ++i) {
    const ir::Constant* constant = main.find_constant(ir::OperandId(i));
    if (constant == nullptr || !is_needed[i]) continue;
    SLUICE_TRY(model.executable.verify(
        constant->data, fmt::format("constant \"{}\"", main.operand(ir::OperandId(i)).name)));
  }
  return ok_status();
}

/// Inputs that a shape function reads, directly.
std::vector<bool> find_shape_inputs(const ir::Subgraph& main) {
  std::vector<bool> is_read(main.num_operands(), false);
  for (const ir::OperationId id : main.order()) {
    const ir::Operation& operation = main.operation(id);
    const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
    if (schema == nullptr) continue;
    for (std::size_t i = 0; i < operation.inputs.size() && i < schema->inputs.size(); ++i) {
      const ir::OperandId input = operation.inputs[i];
      if (schema->inputs[i].is_shape_value && input.is_valid()) is_read[input.index()] = true;
    }
  }
  std::vector<bool> is_shape_input;
  for (const ir::OperandId input : main.inputs) is_shape_input.push_back(is_read[input.index()]);
  return is_shape_input;
}

/// Constants of a mapped package are aligned as kernels want them; others are copied if they are
/// not.
void align_constants(ir::Subgraph& main) {
  for (std::size_t i = 0; i < main.num_operands(); ++i) {
    auto& constant = main.operand(ir::OperandId(i)).constant;
    if (!constant) continue;
    if (is_aligned(constant->data.data())) continue;
    constant->data = MutableBytes::copy_of(constant->data.view()).freeze();
  }
}

/// A package may come from anywhere: its operations must be what the operator table says.
Status check_operations(ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.num_subgraphs(); ++i) {
    ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(i));
    for (const ir::OperationId id : subgraph.order()) {
      ir::Operation& operation = subgraph.operation(id);
      const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
      if (schema == nullptr) return unimplemented("{}: no such operator", operation.describe());
      SLUICE_TRY(ops::normalize(*schema, subgraph, operation));
    }
  }
  return ok_status();
}

Status check_signature(const package::Signature& signature) {
  for (const auto* specs : {&signature.inputs, &signature.outputs}) {
    for (const package::TensorSpec& spec : *specs) {
      if (spec.type.is_tensor()) continue;
      return unimplemented("\"{}\" is a {}; models take and give tensors so far", spec.name,
                           spec.type.to_string());
    }
  }
  return ok_status();
}

/// Plans the whole model as one stage if its shapes allow.
Status plan_static(ModelState& model) {
  const ir::Subgraph& main = model.main();
  ops::SubgraphFacts facts = model.initial_facts;
  for (const ir::OperandId input : main.inputs) {
    const ir::Type& type = main.operand(input).type;
    if (!type.is_static()) return ok_status();
    facts[input.index()].type = type;
  }
  ops::SubgraphFacts probe = facts;
  const Stage stage = SLUICE_TRY(plan_stage(model.executable.graph, 0, probe));
  if (stage.end != main.order().size() || stage.has_data_dependent_end) return ok_status();
  model.static_plan = SLUICE_TRY(make_stage_plan(model, 0, std::move(facts), {}));
  return ok_status();
}

}  // namespace

Result<LoadedModel> LoadedModel::load(package::Executable executable,
                                      const backend::BackendRegistry& backends,
                                      const LoadOptions& options) {
  SLUICE_TRY(check_operations(executable.graph));
  align_constants(executable.graph.main());
  auto model = std::make_shared<ModelState>(
      std::make_shared<const package::Executable>(std::move(executable)));
  model->signature = package::signature_of(model->executable.graph);
  SLUICE_TRY(check_signature(model->signature));
  model->options = options;
  for (const std::string& name : model->executable.backends) {
    model->backends.push_back(SLUICE_TRY(backends.find(name)));
  }
  model->segments = SLUICE_TRY(map_segments(model->executable, model->backends, options));
  model->packed = SLUICE_TRY(PackedStore::create(model->executable, model->backends));
  SLUICE_TRY(verify_constants(*model));
  model->initial_facts = initial_facts(model->main());
  model->is_shape_input = find_shape_inputs(model->main());
  SLUICE_TRY(plan_static(*model));
  return LoadedModel(std::move(model));
}

Result<LoadedModel> LoadedModel::place(const LoadOptions& options) const {
  auto model = std::make_shared<ModelState>(state_->executable_owner);
  model->signature = state_->signature;
  model->options = options;
  model->backends = state_->backends;
  model->segments = SLUICE_TRY(map_segments(model->executable, model->backends, options));
  model->packed = state_->packed;
  model->initial_facts = state_->initial_facts;
  model->is_shape_input = state_->is_shape_input;
  if (model->segments.devices() == state_->segments.devices()) {
    model->static_plan = state_->static_plan;
  } else {
    SLUICE_TRY(plan_static(*model));
  }
  return LoadedModel(std::move(model));
}

const package::Signature& LoadedModel::signature() const { return state_->signature; }

const package::Executable& LoadedModel::executable() const { return state_->executable; }

std::size_t LoadedModel::num_segments() const { return state_->segments.group_index.size(); }

bool LoadedModel::has_static_shapes() const { return state_->static_plan != nullptr; }

const std::shared_ptr<const backend::Group>& LoadedModel::group_of(std::size_t segment) const {
  return state_->segments.group_of(segment);
}

std::int64_t LoadedModel::context_bytes() const {
  if (!state_->static_plan) return -1;
  std::int64_t total = state_->static_plan->placement.layout.arena_bytes;
  for (const package::TensorSpec& spec : state_->signature.outputs) {
    total += ir::storage_bytes(spec.type).value_or(0);
  }
  return total;
}

LoadedModel::Preparation LoadedModel::preparation() const {
  Preparation preparation = {state_->packed.all(), std::nullopt};
  if (state_->static_plan) preparation.plan = state_->static_plan->placement.layout;
  return preparation;
}

}  // namespace sluice::exec
