#include <algorithm>
#include <utility>

#include "backend/extensions/input_alignment.h"
#include "backend/memory.h"
#include "base/clock.h"
#include "base/file.h"
#include "device/device_services.h"
#include "exec/constants/stop.h"
#include "exec/constants/verification.h"
#include "exec/memory_scope.h"
#include "exec/model_state.h"
#include "ir/source.h"
#include "operators/module.h"
#include "ops/control/structure.h"

namespace sluice::exec {

namespace {

/// By operand: whether a kernel or an output reads its bytes from the file. Kernels with a packed
/// form of a constant do not.
std::vector<bool> find_read(const PackedStore& store, const ir::Subgraph& subgraph,
                            ir::SubgraphId id) {
  std::vector<bool> is_read(subgraph.num_operands(), false);
  for (const ir::OperandId output : subgraph.outputs) is_read[output.index()] = true;
  for (std::size_t at = 0; at < subgraph.order().size(); ++at) {
    const ir::Operation& operation = subgraph.operation(subgraph.order()[at]);
    const auto packed = store.of(id, at);
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      const bool is_packed = i < packed.size() && !packed[i].empty();
      const ir::OperandId input = operation.inputs[i];
      if (input.is_valid() && !is_packed) is_read[input.index()] = true;
    }
    if (!operation.body) continue;
    for (const ir::OperandId input : operation.body->inputs) is_read[input.index()] = true;
  }
  return is_read;
}

/// Constants that kernels read in packed form only.
std::vector<ir::OperandId> find_unread(const ModelState& model, const SubgraphCode& code) {
  std::vector<ir::OperandId> unread;
  const std::vector<bool> is_read = find_read(model.packed, *code.subgraph, code.id);
  for (std::size_t i = 0; i < is_read.size(); ++i) {
    const ir::OperandId id(i);
    if (!is_read[i] && code.subgraph->is_constant(id)) unread.push_back(id);
  }
  return unread;
}

/// Adds the constants that are read from the file.
Status add_constants(const ModelState& model, const SubgraphCode& code,
                     Verification& verification) {
  const ir::Subgraph& subgraph = *code.subgraph;
  const std::vector<bool> is_read = find_read(model.packed, subgraph, code.id);
  for (std::size_t i = 0; i < is_read.size(); ++i) {
    const ir::Constant* constant = subgraph.find_constant(ir::OperandId(i));
    if (constant == nullptr || !is_read[i]) continue;
    const std::string& name = subgraph.operand(ir::OperandId(i)).name;
    if (ir::is_left_out(*constant)) {
      return make_error(Code::kDataLoss, "constant \"{}\" is left out and is needed", name);
    }
    verification.add(constant->data, fmt::format("constant \"{}\"", name));
  }
  return ok_status();
}

/// Gives back the mapped pages of constants that kernels read in packed form only: the pages were
/// touched while packing, or mapped along with their neighbours.
void release_packed(const ModelState& model) {
  for (const auto& code : model.subgraphs) {
    if (code == nullptr) continue;
    for (const ir::OperandId id : find_unread(model, *code)) {
      release_pages(code->subgraph->find_constant(id)->data.view());
    }
  }
}

/// Copies constants that kernels read and that are not aligned for them, after a check of their
/// checksum. Those of a mapped package are aligned already. Returns the bytes copied.
Result<std::int64_t> align_constants(package::Executable& executable, const PackedStore& packed,
                                     const std::stop_token& stop) {
  std::int64_t copied_bytes = 0;
  for (std::size_t s = 0; s < executable.graph.num_subgraphs(); ++s) {
    ir::Subgraph& subgraph = executable.graph.subgraph(ir::SubgraphId(s));
    const std::vector<bool> is_read = find_read(packed, subgraph, ir::SubgraphId(s));
    for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
      ir::Operand& operand = subgraph.operand(ir::OperandId(i));
      if (!is_read[i] || !operand.constant || backend::is_aligned(operand.constant->data.data()))
        continue;
      SLUICE_TRY(check_not_stopped(stop));
      Bytes& data = operand.constant->data;
      SLUICE_TRY(executable.verify(data, fmt::format("constant \"{}\"", operand.name)));
      const Bytes unaligned = data;
      data = MutableBytes::copy_of(unaligned.view()).freeze();
      copied_bytes += static_cast<std::int64_t>(data.size());
      release_pages(unaligned.view());
    }
  }
  return copied_bytes;
}

Status unknown_operator(const ir::Operation& operation) {
  if (operation.domain.empty() || operation.domain == "sluice") {
    return unimplemented("{}: no such operator", operation.describe());
  }
  return unimplemented(
      "{}: no such operator in domain \"{}\"; if a program brings it, this process has to register "
      "it before it opens the model (sluice_operator_register)",
      operation.describe(), operation.domain);
}

Status check_operation(const ir::Graph& graph, ir::Subgraph& subgraph, ir::Operation& operation) {
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  if (schema == nullptr) return unknown_operator(operation);
  SLUICE_TRY(ops::normalize(*schema, subgraph, operation));
  return ops::check_structure(graph, operation);
}

/// Checks all operations against the operator table: a package is untrusted input.
Status check_operations(ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.num_subgraphs(); ++i) {
    ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(i));
    for (const ir::OperationId id : subgraph.order()) {
      ir::Operation& operation = subgraph.operation(id);
      SLUICE_TRY(ir::with_source(graph, subgraph, check_operation(graph, subgraph, operation)));
    }
  }
  return ok_status();
}

/// Callers give and take tensors in row-major order.
Status check_layouts(const terms::Signature& signature) {
  for (const auto* tensors : {&signature.inputs, &signature.outputs}) {
    for (const terms::TensorSpec& spec : *tensors) {
      if (!spec.type.is_tensor() || spec.type.layout() == ir::Layout::kRowMajor) continue;
      return invalid_argument("tensor \"{}\" of the signature is {}; it must be row-major",
                              spec.name, spec.type.to_string());
    }
  }
  return ok_status();
}

/// Every operation of every subgraph that runs has an entry in `backend_of`.
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

/// Bytes packed for the executable's backends. The load uses nearly all of them, so they are read
/// ahead.
std::vector<Bytes> packed_for(const package::Executable& executable) {
  std::vector<Bytes> all;
  for (const package::PackedConstant& packed : executable.packed) {
    const bool is_used =
        std::ranges::find(executable.backends, packed.backend) != executable.backends.end();
    if (is_used) all.push_back(packed.data);
  }
  return all;
}

/// Plans a whole subgraph as one range if its shapes allow.
Status plan_static(const ModelState& model, SubgraphCode& code) {
  Facts facts = code.initial_facts;
  for (const ir::OperandId input : code.subgraph->inputs) {
    const ir::Type& type = code.subgraph->operand(input).type;
    if (!type.is_tensor() || !type.is_static()) return ok_status();
    facts.set(input, {type, std::nullopt, std::nullopt});
    code.static_dims.push_back(*type.static_dims());
  }
  auto range = plan_range(model.executable.graph, *code.subgraph, 0, facts);
  const bool is_body = code.id.index() != 0;
  // A failure in the main graph is an error of the model. In a body it is not: shapes there depend
  // on the operands that control flow passes, so the body is planned at run time.
  if (is_body && !range.is_ok()) return ok_status();
  SLUICE_TRY(Status(range.status()));
  const bool is_whole = range->end == code.subgraph->order().size();
  if (!is_whole || range->has_data_dependent_end || range->has_executor_end) return ok_status();
  code.static_plan =
      SLUICE_TRY(prepare_range(model, code, *std::move(range), {0, std::move(facts), {}, {}}));
  return ok_status();
}

/// Tells the subgraphs that the control flow of `outer` runs how many of their inputs are captured.
void count_captures(const SubgraphCode& outer, const ModelState& model) {
  for (std::size_t at = 0; at < outer.subgraph->order().size(); ++at) {
    const ir::Operation& operation = outer.operation_at(at);
    for (const auto& [name, value] : operation.attributes) {
      const auto* callee = std::get_if<ir::SubgraphId>(&value);
      if (callee == nullptr || model.subgraphs[callee->index()] == nullptr) continue;
      model.subgraphs[callee->index()]->num_captures =
          operation.inputs.size() - ops::num_own_inputs(operation);
    }
  }
}

bool reads_run_state(const SubgraphCode& code) {
  return std::ranges::any_of(code.subgraph->order(), [&](ir::OperationId id) {
    const ir::Operation& operation = code.subgraph->operation(id);
    const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
    return schema != nullptr && schema->has(ops::kRunState);
  });
}

Status prepare_subgraphs(ModelState& model, const std::stop_token& stop) {
  const ir::Graph& graph = model.executable.graph;
  model.subgraphs.resize(graph.num_subgraphs());
  for (const ir::SubgraphId id : ops::runnable_subgraphs(graph)) {
    SLUICE_TRY(check_not_stopped(stop));
    model.subgraphs[id.index()] = SLUICE_TRY(prepare_subgraph(graph, id));
  }
  for (const auto& code : model.subgraphs) {
    if (code == nullptr) continue;
    count_captures(*code, model);
    model.draws_random_numbers = model.draws_random_numbers || reads_run_state(*code);
  }
  return ok_status();
}

Status plan_all(const ModelState& model, const std::stop_token& stop) {
  for (const auto& code : model.subgraphs) {
    SLUICE_TRY(check_not_stopped(stop));
    if (code == nullptr) continue;
    SLUICE_TRY(ir::with_source(model.executable.graph, *code->subgraph, plan_static(model, *code)));
  }
  return ok_status();
}

/// Verifies all data that kernels read, and plans the subgraphs whose shapes are known.
Status verify_and_plan(ModelState& model, Verification& verification, const std::stop_token& stop) {
  for (const auto& code : model.subgraphs) {
    if (code != nullptr) SLUICE_TRY(add_constants(model, *code, verification));
  }
  SLUICE_TRY(verification.start());
  const Status planned = plan_all(model, stop);
  SLUICE_TRY(verification.finish());  // reported first: damaged data can make a plan fail
  return planned;
}

/// Takes the static plans of `same`, a verified model on the same devices.
void take_plans(ModelState& model, const ModelState& same) {
  for (std::size_t i = 0; i < model.subgraphs.size(); ++i) {
    if (model.subgraphs[i] == nullptr) continue;
    model.subgraphs[i]->static_plan = same.subgraphs[i]->static_plan;
    model.subgraphs[i]->static_dims = same.subgraphs[i]->static_dims;
  }
}

/// Without the caller's, a device that reads its own memory alone has services of this model.
void find_services(ModelState& model) {
  if (model.options.devices != nullptr || !model.segments.needs_copies()) return;
  model.options.devices = std::make_shared<device::DeviceServiceTable>(system_clock());
}

Result<ExecutorKind> executor_of(const package::Executable& executable,
                                 const LoadOptions& options) {
  if (options.executor != ExecutorKind::kAsCompiled) return options.executor;
  const auto& facts = executable.graph.metadata;
  const auto fact = facts.find(kExecutorFact);
  if (fact == facts.end()) return ExecutorKind::kLinear;
  return parse_executor(fact->second);
}

}  // namespace

Result<LoadedModel> LoadedModel::load(package::Executable executable,
                                      const backend::BackendRegistry& backends,
                                      const LoadOptions& options, const std::stop_token& stop) {
  const auto owner = std::make_shared<package::Executable>(std::move(executable));
  auto model = std::make_shared<ModelState>(owner, options);
  // Order: checksums of the packed bytes, most of the file, are computed in the background while
  // the graph is checked. Structure is checked before anything reads `backend_of` or operands by
  // index. `verify_and_plan` joins the background work; no kernel reads packed bytes before that.
  Verification verification(*owner, options.num_threads, stop);
  verification.read_ahead(packed_for(*owner));
  SLUICE_TRY(operators::open_module_of(*owner));
  SLUICE_TRY(check_operations(owner->graph));
  for (const std::string& name : owner->backends) {
    model->backends.push_back(SLUICE_TRY(backends.find(name)));
    model->input_alignment = std::max(
        model->input_alignment, SLUICE_TRY(backend::input_alignment(*model->backends.back())));
  }
  SLUICE_TRY(check_assignment(*owner));
  model->signature = package::signature_of(owner->graph);
  SLUICE_TRY(check_layouts(model->signature));
  model->options.draft = nullptr;  // of this load alone
  if (!model->options.random) model->options.random = RandomSource::create();
  model->executor = SLUICE_TRY(executor_of(*owner, options));
  model->segments =
      SLUICE_TRY(map_segments(model->executable, model->backends, options, model->executor));
  find_services(*model);
  model->packed = SLUICE_TRY(
      PackedStore::create(model->executable, model->backends, verification, stop, options.draft));
  model->own_bytes =
      model->packed.own_bytes() + SLUICE_TRY(align_constants(*owner, model->packed, stop));
  model->own_charge = std::make_shared<const ByteCharge>(
      SLUICE_TRY(ByteCharge::take(MemoryScope::payer(), model->own_bytes)));
  SLUICE_TRY(prepare_subgraphs(*model, stop));
  SLUICE_TRY(verify_and_plan(*model, verification, stop));
  release_packed(*model);
  return LoadedModel(std::move(model));
}

Result<LoadedModel> LoadedModel::place(const LoadOptions& options,
                                       const std::stop_token& stop) const {
  return ReadyModel(state_).place(options, stop);
}

ReadyModel LoadedModel::ready() const {
  auto model = std::make_shared<ModelState>(state_->executable_owner);
  model->signature = state_->signature;
  model->executor = state_->executor;
  model->backends = state_->backends;
  model->input_alignment = state_->input_alignment;
  model->packed = state_->packed;
  model->own_bytes = state_->own_bytes;
  model->own_charge = state_->own_charge;
  model->segments.group_index = state_->segments.group_index;
  model->segments.lanes = state_->segments.lanes;
  model->segments.devices = state_->segments.devices;
  for (const auto& code : state_->subgraphs) {
    model->subgraphs.push_back(code == nullptr ? nullptr : std::make_unique<SubgraphCode>());
  }
  take_plans(*model, *state_);
  return ReadyModel(std::move(model));
}

std::int64_t ReadyModel::own_bytes() const { return state_->own_bytes; }

Result<LoadedModel> ReadyModel::place(const LoadOptions& options,
                                      const std::stop_token& stop) const {
  auto model = std::make_shared<ModelState>(state_->executable_owner, options);
  model->signature = state_->signature;
  if (!model->options.random) model->options.random = RandomSource::create();
  model->backends = state_->backends;
  model->input_alignment = state_->input_alignment;
  model->executor = SLUICE_TRY(executor_of(model->executable, options));
  model->segments =
      SLUICE_TRY(map_segments(model->executable, model->backends, options, model->executor));
  find_services(*model);
  model->packed = state_->packed;
  model->own_bytes = state_->own_bytes;
  model->own_charge = state_->own_charge;
  SLUICE_TRY(prepare_subgraphs(*model, stop));
  // Kernels depend on the device, not on its cores; tasks depend on the numbers of groups.
  const bool is_linear =
      model->executor == ExecutorKind::kLinear && state_->executor == ExecutorKind::kLinear;
  const bool has_same_tasks = model->executor == state_->executor &&
                              model->segments.group_index == state_->segments.group_index &&
                              model->segments.lanes == state_->segments.lanes;
  if (model->segments.devices == state_->segments.devices && (is_linear || has_same_tasks)) {
    take_plans(*model, *state_);
  } else {
    Verification verification(model->executable, options.num_threads, stop);
    SLUICE_TRY(verify_and_plan(*model, verification, stop));
  }
  return LoadedModel(std::move(model));
}

const terms::Signature& LoadedModel::signature() const { return state_->signature; }

const package::Executable& LoadedModel::executable() const { return state_->executable; }

std::shared_ptr<const package::Executable> LoadedModel::shared_executable() const {
  return state_->executable_owner;
}

void LoadedModel::set_seed(std::uint64_t seed) const { state_->options.random->restart(seed); }

std::size_t LoadedModel::num_segments() const { return state_->segments.group_index.size(); }

ExecutorKind LoadedModel::executor() const { return state_->executor; }

bool LoadedModel::has_static_shapes() const { return state_->main().static_plan != nullptr; }

const std::shared_ptr<const backend::Group>& LoadedModel::group_of(std::size_t segment) const {
  return state_->segments.group_of(segment);
}

std::vector<device::StreamUse> LoadedModel::stream_uses(std::size_t segment) const {
  return state_->segments.streams[state_->segments.group_index[segment]].uses();
}

std::int64_t LoadedModel::context_bytes() const {
  const auto& plan = state_->main().static_plan;
  if (!plan) return -1;
  std::int64_t total = plan->placement->layout.arena_bytes;
  for (const terms::TensorSpec& spec : state_->signature.outputs) {
    total += ir::run_bytes(spec.type).value_or(0);
  }
  return total;
}

std::size_t LoadedModel::num_tasks() const {
  const auto& plan = state_->main().static_plan;
  if (plan == nullptr) return 0;
  return plan->placement->tasks ? plan->placement->tasks->tasks.size() : num_segments();
}

LoadedModel::ArenaUse LoadedModel::arena_use() const {
  const auto& plan = state_->main().static_plan;
  if (plan == nullptr) return {};
  return {plan->placement->layout.arena_bytes, plan->placement->lower_bound_bytes};
}

std::int64_t LoadedModel::plan_bytes() const { return state_->plans.held_bytes(); }

LoadedModel::Preparation LoadedModel::preparation() const {
  Preparation preparation = {state_->packed.all(), {}, std::nullopt};
  for (const auto& code : state_->subgraphs) {
    if (code == nullptr) continue;
    for (const ir::OperandId id : find_unread(*state_, *code)) {
      preparation.unread.emplace_back(code->id, id);
    }
  }
  const auto& plan = state_->main().static_plan;
  if (plan) preparation.plan = plan->placement->layout;
  return preparation;
}

std::vector<LoadedModel::StaticKernel> LoadedModel::static_kernels() const {
  std::vector<StaticKernel> all;
  for (const auto& code : state_->subgraphs) {
    if (code == nullptr || code->static_plan == nullptr) continue;
    const RangePlan& plan = *code->static_plan;
    for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
      if (plan.kernels[i] == nullptr) continue;
      all.push_back({code->id, plan.range.begin + i, plan.kernels[i]});
    }
  }
  return all;
}

}  // namespace sluice::exec
