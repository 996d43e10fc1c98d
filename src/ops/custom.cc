#include "ops/custom.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "ops/inference.h"

namespace sluice::ops {
namespace {

struct Entry {
  CustomOperator custom;
  std::deque<std::string> operand_names;  ///< a deque: schemas point to its strings
  OpSchema schema;
};

/// `mutex` guards the list, not its entries, which never change or move once they are added. No
/// function of a program is called under it.
struct Table {
  std::shared_mutex mutex;
  std::deque<Entry> entries;
};

Table& custom_table() {
  static auto* const kTable = new Table;  // threads may run models while the process exits
  return *kTable;
}

const Entry* find_entry(const Table& table, std::string_view domain, std::string_view name) {
  const auto found = std::ranges::find_if(table.entries, [&](const Entry& entry) {
    return entry.custom.domain == domain && entry.custom.name == name;
  });
  return found == table.entries.end() ? nullptr : &*found;
}

std::vector<OperandSpec> operands_of(OperandCount count, std::deque<std::string>& names) {
  std::vector<OperandSpec> operands;
  for (int i = 0; i < std::max(count.least, count.most); ++i) {
    names.push_back(std::to_string(i));
    operands.push_back(
        {.name = names.back(), .types = kAllTensors, .is_optional = i >= count.least});
  }
  if (count.most < 0) {
    operands.push_back({.name = "rest", .types = kAllTensors, .is_variadic = true});
  }
  return operands;
}

Status infer_custom(InferenceContext& context) {
  const ir::Operation& operation = context.operation();
  const Entry* entry = nullptr;
  // The program's function runs without the lock. Entries stay where they are, and none is removed.
  {
    Table& table = custom_table();
    const std::shared_lock lock(table.mutex);
    entry = find_entry(table, operation.domain, operation.kind);
  }
  if (entry == nullptr) return context.error("the operator is not registered");
  const auto least = static_cast<std::size_t>(entry->custom.outputs.least);
  if (context.num_outputs() < least) {
    return context.error("has {} outputs; the operator has at least {}", context.num_outputs(),
                         least);
  }
  return entry->custom.infer(context);
}

}  // namespace

Status add_custom_operator(CustomOperator custom) {
  Table& table = custom_table();
  const std::scoped_lock lock(table.mutex);
  const std::string_view domain = custom.domain;
  const std::string_view name = custom.name;
  // One domain may not have a name twice: packages name operators by domain and name alone.
  if (find_built_in_schema(domain, name) != nullptr || find_entry(table, domain, name) != nullptr) {
    return make_error(Code::kAlreadyExists, "the domain \"{}\" has an operator \"{}\" already",
                      domain, name);
  }
  Entry& entry = table.entries.emplace_back();
  entry.custom = std::move(custom);
  entry.schema = {.domain = entry.custom.domain,
                  .name = entry.custom.name,
                  .versions = {entry.custom.version},
                  .doc = "an operator of the program",
                  .inputs = operands_of(entry.custom.inputs, entry.operand_names),
                  .outputs = operands_of(entry.custom.outputs, entry.operand_names),
                  .infer = infer_custom,
                  .traits = entry.custom.traits | kCustom};
  return ok_status();
}

const OpSchema* find_custom_schema(std::string_view domain, std::string_view name) {
  Table& table = custom_table();
  const std::shared_lock lock(table.mutex);
  const Entry* entry = find_entry(table, domain, name);
  return entry == nullptr ? nullptr : &entry->schema;
}

bool has_custom_operators(const ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.num_subgraphs(); ++i) {
    const ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(i));
    const bool has_custom = std::ranges::any_of(subgraph.order(), [&](ir::OperationId id) {
      const ir::Operation& operation = subgraph.operation(id);
      const OpSchema* schema = find_schema(operation.domain, operation.kind);
      return schema != nullptr && schema->has(kCustom);
    });
    if (has_custom) return true;
  }
  return false;
}

}  // namespace sluice::ops
