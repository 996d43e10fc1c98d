#include "fuzz/operators/prepare.h"

#include <utility>
#include <vector>

#include "fuzz/operators/guarded_memory.h"
#include "fuzz/operators/values.h"
#include "ir/text/graph_text.h"
#include "ir/verify.h"
#include "ops/inference.h"
#include "ops/lowering/lower_operations.h"
#include "ops/schema.h"

namespace sluice::fuzz {
namespace {

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

/// Takes the attributes out that the operator does not have, and gives them back.
ir::Attributes take_unknown(const ops::OpSchema& schema, ir::Operation& operation) {
  ir::Attributes unknown;
  for (const auto& [name, value] : ir::Attributes(operation.attributes)) {
    bool is_known = false;
    for (const ops::AttributeSpec& spec : schema.attributes) is_known |= spec.name == name;
    if (is_known) continue;
    unknown.set(name, value);
    operation.attributes.erase(name);
  }
  return unknown;
}

Status normalize_operation(ir::Subgraph& subgraph, ir::OperationId id) {
  ir::Operation operation = subgraph.operation(id);
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  if (schema == nullptr) return unimplemented("{}: no such operator", operation.describe());
  // Attributes of older versions, which an upgrade reads, are not those of the schema.
  const bool is_newest = operation.version == schema->newest_version();
  const ir::Attributes unknown = is_newest ? take_unknown(*schema, operation) : ir::Attributes();
  SLUICE_TRY(ops::normalize(*schema, subgraph, operation));
  for (const auto& [name, value] : unknown) operation.attributes.set(name, value);
  subgraph.operation(id) = std::move(operation);
  return ok_status();
}

Status normalize_all(ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.num_subgraphs(); ++i) {
    ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(i));
    const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
    for (const ir::OperationId id : order) SLUICE_TRY(normalize_operation(subgraph, id));
  }
  return ok_status();
}

Status check_sizes(const ir::Subgraph& subgraph) {
  for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
    const ir::Operand& operand = subgraph.operand(ir::OperandId(i));
    if (!operand.constant) continue;
    const auto bytes = ir::run_bytes(operand.constant->type);
    if (!bytes || *bytes > GuardedMemory::kMaxBytes) return invalid_argument("a large constant");
  }
  return ok_status();
}

/// Gives symbols numbers, and contents to the tensor.
Status fill_input(ir::Operand& operand, Random& random, ir::Constant& contents) {
  if (!operand.type.is_tensor() || operand.type.shape() == nullptr) {
    return invalid_argument("an input without a shape");
  }
  ir::Shape shape = *operand.type.shape();
  for (ir::Dim& dim : shape) {
    if (!dim.is_known()) dim = ir::Dim(random.below(4));
  }
  operand.type = operand.type.with_shape(std::move(shape));
  const auto bytes = ir::run_bytes(operand.type);
  if (!bytes || *bytes > GuardedMemory::kMaxBytes) return invalid_argument("a large input");
  contents = random_constant(operand.type, random);
  return ok_status();
}

/// Lowerings need types; their results need the newest forms again.
Status lower(ir::Graph& graph) {
  bool is_lowered = false;
  for (const ir::OperationId id : graph.main().order()) {
    const ir::Operation& operation = graph.main().operation(id);
    is_lowered |= ops::find_lowering(operation.domain, operation.kind) != nullptr;
  }
  if (!is_lowered) return ok_status();
  std::vector<std::string> stale;
  SLUICE_TRY(ops::infer_types(graph, &stale));
  return ops::lower_operations(graph);
}

}  // namespace

Result<Prepared> prepare(std::string_view text) {
  Prepared prepared;
  prepared.seed = hash_of(text);
  prepared.graph = SLUICE_TRY(ir::parse_graph(text));
  ir::Subgraph& main = prepared.graph.main();
  main.outputs.clear();  // they would need types, which are not inferred yet
  SLUICE_TRY(ir::verify(prepared.graph));
  SLUICE_TRY(check_sizes(main));
  Random random(prepared.seed);
  for (const ir::OperandId id : main.inputs) {
    SLUICE_TRY(fill_input(main.operand(id), random, prepared.contents[id]));
  }
  SLUICE_TRY(normalize_all(prepared.graph));
  SLUICE_TRY(lower(prepared.graph));
  SLUICE_TRY(ir::verify(prepared.graph));
  return prepared;
}

void move_constants_to_inputs(Prepared& prepared) {
  ir::Subgraph& main = prepared.graph.main();
  for (std::size_t i = 0; i < main.num_operands(); ++i) {
    const ir::OperandId id(i);
    ir::Operand& operand = main.operand(id);
    if (!operand.constant) continue;
    operand.type = operand.constant->type;
    prepared.contents.insert_or_assign(id, *std::exchange(operand.constant, std::nullopt));
    main.inputs.push_back(id);
  }
}

}  // namespace sluice::fuzz
