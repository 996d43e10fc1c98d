#include <algorithm>
#include <utility>

#include "base/file.h"
#include "exec/aligned_buffer.h"
#include "exec/model_state.h"
#include "exec/stop.h"
#include "exec/verification.h"
#include "ops/control/structure.h"

namespace sluice::exec {

namespace {

/// By operand: whether something reads it as it lies in the file. Kernels that have a constant in
/// packed form do not.
std::vector<bool> find_read(const ModelState& model, const Program& program) {
  const ir::Subgraph& subgraph = *program.subgraph;
  std::vector<bool> is_read(subgraph.num_operands(), false);
  for (const ir::OperandId id : subgraph.outputs) is_read[id.index()] = true;
  for (std::size_t at = 0; at < subgraph.order().size(); ++at) {
    const ir::Operation& operation = subgraph.operation(subgraph.order()[at]);
    const auto packed = model.packed.of(program.id, at);
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      const bool is_packed = i < packed.size() && !packed[i].empty();
      const ir::OperandId id = operation.inputs[i];
      if (id.is_valid() && !is_packed) is_read[id.index()] = true;
    }
    if (!operation.body) continue;
    for (const ir::OperandId id : operation.body->inputs) is_read[id.index()] = true;
  }
  return is_read;
}

/// Constants that are read as they lie in the file.
void add_constants(const ModelState& model, const Program& program, Verification& verification) {
  const ir::Subgraph& subgraph = *program.subgraph;
  const std::vector<bool> is_read = find_read(model, program);
  for (std::size_t i = 0; i < is_read.size(); ++i) {
    const ir::Constant* constant = subgraph.find_constant(ir::OperandId(i));
    if (constant == nullptr || !is_read[i]) continue;
    const std::string& name = subgraph.operand(ir::OperandId(i)).name;
    verification.add(constant->data, fmt::format("constant \"{}\"", name));
  }
}

/// Of constants that kernels have in packed form, neither what was read to pack them now nor what
/// was mapped along with their neighbours need stay in memory.
void release_packed(const ModelState& model) {
  for (const auto& program : model.programs) {
    if (program == nullptr) continue;
    const std::vector<bool> is_read = find_read(model, *program);
    for (std::size_t i = 0; i < is_read.size(); ++i) {
      const ir::Constant* constant = program->subgraph->find_constant(ir::OperandId(i));
      if (constant != nullptr && !is_read[i]) release_pages(constant->data.view());
    }
  }
}

/// Constants of a mapped package are aligned as kernels want them; others are checked and copied.
Status align_constants(package::Executable& executable, const std::stop_token& stop) {
  for (std::size_t s = 0; s < executable.graph.num_subgraphs(); ++s) {
    ir::Subgraph& subgraph = executable.graph.subgraph(ir::SubgraphId(s));
    for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
      ir::Operand& operand = subgraph.operand(ir::OperandId(i));
      if (!operand.constant || is_aligned(operand.constant->data.data())) continue;
      SLUICE_TRY(check_not_stopped(stop));
      Bytes& data = operand.constant->data;
      SLUICE_TRY(executable.verify(data, fmt::format("constant \"{}\"", operand.name)));
      data = MutableBytes::copy_of(data.view()).freeze();
    }
  }
  return ok_status();
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
      SLUICE_TRY(ops::check_structure(graph, operation));
    }
  }
  return ok_status();
}

/// The places of the order have a backend or none, as many as there are operations.
Status check_assignment(const package::Executable& executable) {
  if (executable.backend_of.size() != executable.graph.num_subgraphs()) {
    return invalid_argument("{} subgraphs have backends, the graph has {}",
                            executable.backend_of.size(), executable.graph.num_subgraphs());
  }
  for (const ir::SubgraphId id : ops::runnable_subgraphs(executable.graph)) {
    const std::size_t count = executable.graph.subgraph(id).order().size();
    if (executable.backend_of[id.index()].size() == count) continue;
    return invalid_argument("subgraph {} has {} operations and {} backends", id.value(), count,
                            executable.backend_of[id.index()].size());
  }
  return ok_status();
}

/// What was packed for the executable's backends: all of it, as a rule, is what the load will use.
std::vector<Bytes> packed_for(const package::Executable& executable) {
  std::vector<Bytes> all;
  for (const package::PackedConstant& packed : executable.packed) {
    const bool is_used =
        std::ranges::find(executable.backends, packed.backend) != executable.backends.end();
    if (is_used) all.push_back(packed.data);
  }
  return all;
}

/// Plans a whole subgraph as one stage if its shapes allow.
Status plan_static(const ModelState& model, Program& program) {
  ops::SubgraphFacts facts = program.initial_facts;
  for (const ir::OperandId input : program.subgraph->inputs) {
    const ir::Type& type = program.subgraph->operand(input).type;
    if (!type.is_tensor() || !type.is_static()) return ok_status();
    facts[input.index()].type = type;
    program.static_dims.push_back(*type.static_dims());
  }
  ops::SubgraphFacts probe = facts;
  const auto stage = plan_stage(model.executable.graph, *program.subgraph, 0, probe);
  const bool is_body = program.id.index() != 0;
  if (is_body && !stage.is_ok()) return ok_status();  // it need not run, or not with these shapes
  SLUICE_TRY(Status(stage.status()));
  const bool is_whole = stage->end == program.subgraph->order().size();
  if (!is_whole || stage->has_data_dependent_end || stage->has_executor_end) return ok_status();
  program.static_plan = SLUICE_TRY(make_stage_plan(model, program, 0, std::move(facts), {}));
  return ok_status();
}

Status make_programs(ModelState& model, const std::stop_token& stop) {
  const ir::Graph& graph = model.executable.graph;
  model.programs.resize(graph.num_subgraphs());
  for (const ir::SubgraphId id : ops::runnable_subgraphs(graph)) {
    SLUICE_TRY(check_not_stopped(stop));
    model.programs[id.index()] = SLUICE_TRY(make_program(graph, id));
  }
  return ok_status();
}

Status plan_all(const ModelState& model, const std::stop_token& stop) {
  for (const auto& program : model.programs) {
    SLUICE_TRY(check_not_stopped(stop));
    if (program != nullptr) SLUICE_TRY(plan_static(model, *program));
  }
  return ok_status();
}

/// Checks what the programs read, and plans those whose shapes allow.
Status verify_and_plan(ModelState& model, Verification& verification, const std::stop_token& stop) {
  for (const auto& program : model.programs) {
    if (program != nullptr) add_constants(model, *program, verification);
  }
  SLUICE_TRY(verification.start());
  const Status planned = plan_all(model, stop);
  SLUICE_TRY(verification.finish());  // first: damaged data may be why a plan fails
  return planned;
}

/// Those of a model that was verified and whose static plans serve.
void take_plans(ModelState& model, const ModelState& same) {
  for (std::size_t i = 0; i < model.programs.size(); ++i) {
    if (model.programs[i] == nullptr) continue;
    model.programs[i]->static_plan = same.programs[i]->static_plan;
    model.programs[i]->static_dims = same.programs[i]->static_dims;
  }
}

}  // namespace

Result<LoadedModel> LoadedModel::load(package::Executable executable,
                                      const backend::BackendRegistry& backends,
                                      const LoadOptions& options, const std::stop_token& stop) {
  const auto owner = std::make_shared<package::Executable>(std::move(executable));
  auto model = std::make_shared<ModelState>(owner);
  Verification verification(*owner, options.num_threads, stop);
  verification.read_ahead(packed_for(*owner));
  for (const std::string& name : owner->backends) {
    model->backends.push_back(SLUICE_TRY(backends.find(name)));
  }
  SLUICE_TRY(check_operations(owner->graph));
  SLUICE_TRY(check_assignment(*owner));
  SLUICE_TRY(align_constants(*owner, stop));
  model->signature = package::signature_of(owner->graph);
  model->options = options;
  model->segments = SLUICE_TRY(map_segments(model->executable, model->backends, options));
  model->packed =
      SLUICE_TRY(PackedStore::create(model->executable, model->backends, verification, stop));
  SLUICE_TRY(make_programs(*model, stop));
  SLUICE_TRY(verify_and_plan(*model, verification, stop));
  release_packed(*model);
  return LoadedModel(std::move(model));
}

Result<LoadedModel> LoadedModel::place(const LoadOptions& options,
                                       const std::stop_token& stop) const {
  auto model = std::make_shared<ModelState>(state_->executable_owner);
  model->signature = state_->signature;
  model->options = options;
  model->backends = state_->backends;
  model->segments = SLUICE_TRY(map_segments(model->executable, model->backends, options));
  model->packed = state_->packed;
  SLUICE_TRY(make_programs(*model, stop));
  if (model->segments.devices() == state_->segments.devices()) {
    take_plans(*model, *state_);
  } else {
    Verification verification(model->executable, options.num_threads, stop);
    SLUICE_TRY(verify_and_plan(*model, verification, stop));
  }
  return LoadedModel(std::move(model));
}

const package::Signature& LoadedModel::signature() const { return state_->signature; }

const package::Executable& LoadedModel::executable() const { return state_->executable; }

std::size_t LoadedModel::num_segments() const { return state_->segments.group_index.size(); }

bool LoadedModel::has_static_shapes() const { return state_->main().static_plan != nullptr; }

const std::shared_ptr<const backend::Group>& LoadedModel::group_of(std::size_t segment) const {
  return state_->segments.group_of(segment);
}

std::int64_t LoadedModel::context_bytes() const {
  const auto& plan = state_->main().static_plan;
  if (!plan) return -1;
  std::int64_t total = plan->placement.layout.arena_bytes;
  for (const package::TensorSpec& spec : state_->signature.outputs) {
    total += ir::run_bytes(spec.type).value_or(0);
  }
  return total;
}

LoadedModel::Preparation LoadedModel::preparation() const {
  Preparation preparation = {state_->packed.all(), std::nullopt};
  const auto& plan = state_->main().static_plan;
  if (plan) preparation.plan = plan->placement.layout;
  return preparation;
}

}  // namespace sluice::exec
