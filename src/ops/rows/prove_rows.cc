#include "ops/rows/prove_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "ops/rows/row_rule.h"

namespace sluice::ops {
namespace {

RowRule find_rule(const ir::Operation& operation) {
  using Key = std::pair<std::string_view, std::string_view>;
  static const auto kRules = [] {
    std::map<Key, RowRule> rules;
    for (const auto family : {axis_row_rules(), batch_row_rules(), move_row_rules(),
                              pick_row_rules(), product_row_rules(), sequence_row_rules()}) {
      for (const NamedRowRule& named : family) {
        rules.emplace(Key{named.domain, named.name}, named.rule);
      }
    }
    return rules;
  }();
  const auto rule = kRules.find(Key{operation.domain, operation.kind});
  return rule == kRules.end() ? nullptr : rule->second;
}

const ir::Shape* leading_shape(const ir::Type& type) {
  const ir::Shape* shape = type.is_tensor() ? type.shape() : nullptr;
  return shape == nullptr || shape->empty() ? nullptr : shape;
}

class RowProof {
 public:
  explicit RowProof(const ir::Graph& graph) : graph_(graph), main_(graph.main()) {}

  Status run() {
    SLUICE_TRY(read_inputs());
    // A run of one row has no neighbours.
    if (count_.is(1)) return ok_status();
    for (const ir::OperationId id : main_.order()) {
      const ir::Operation& operation = main_.operation(id);
      const Status status = run_operation(operation);
      if (status.is_ok()) continue;
      // An error of inference names the operation itself.
      if (status.message().starts_with(operation.describe())) return status;
      return invalid_argument("{} {}", operation.describe(), status.message());
    }
    return check_outputs();
  }

 private:
  Status read_inputs() {
    rows_.resize(main_.num_operands());
    for (std::size_t i = 0; i < main_.num_operands(); ++i) {
      facts_.push_back(facts_of(main_.operand(ir::OperandId(i))));
    }
    if (main_.inputs.empty()) return invalid_argument("the model has no inputs");
    const ir::Shape* first = leading_shape(facts_[main_.inputs.front().index()].type);
    if (first != nullptr) count_ = first->front();
    for (const ir::OperandId input : main_.inputs) {
      const ir::Operand& operand = main_.operand(input);
      const ir::Shape* shape = leading_shape(operand.type);
      if (first == nullptr || shape == nullptr || shape->front() != count_) {
        return invalid_argument("input \"{}\" is {}: the inputs' first dimensions are not the same",
                                operand.name, operand.type.to_string());
      }
      for (const ir::Dim& dim : std::span(*shape).subspan(1)) add_symbols(dim);
      rows_[input.index()] = Rows::at(0);
    }
    if (!count_.is_known() && !is_symbol_of_inputs(count_.to_string())) {
      return invalid_argument("the inputs' first dimension, {}, is no symbol", count_.to_string());
    }
    for (const ir::OperandId input : main_.inputs) {
      SLUICE_TRY(check_rows(facts_[input.index()].type, 0)
                     .with_context(fmt::format("input \"{}\"", main_.operand(input).name)));
    }
    return ok_status();
  }

  /// Inference names what a run decides "_u...": an input's dimension must not pass for one.
  static bool is_symbol_of_inputs(std::string_view text) {
    const auto is_part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '.';
    };
    return std::ranges::all_of(text, is_part) && !text.starts_with("_u");
  }

  /// Those of trailing dimensions: joined requests have the same numbers for them.
  void add_symbols(const ir::Dim& dim) {
    const std::string name = count_.to_string();
    dim.substitute([&](std::string_view symbol) -> std::optional<ir::Dim> {
      if (symbol != name && is_symbol_of_inputs(symbol)) shared_symbols_.emplace(symbol);
      return std::nullopt;
    });
  }

  /// Whether the dimension is the same for any number of rows.
  bool is_shared(const ir::Dim& dim) const {
    bool is_shared = !dim.is_overflow();
    dim.substitute([&](std::string_view symbol) -> std::optional<ir::Dim> {
      is_shared = is_shared && shared_symbols_.contains(symbol);
      return std::nullopt;
    });
    return is_shared;
  }

  /// Whether the dimension is the number of rows times something that is the same for all.
  bool has_rows(const ir::Dim& dim) const {
    if (count_.is_known()) {
      return dim.is_known() && count_.value() > 0 && dim.value() % count_.value() == 0;
    }
    const std::string name = count_.to_string();
    const ir::Dim of_one = dim.substitute([&](std::string_view symbol) {
      return symbol == name ? std::optional<ir::Dim>(1) : std::nullopt;
    });
    return is_shared(of_one) && of_one * count_ == dim;
  }

  Status check_rows(const ir::Type& type, std::size_t axis) const {
    const ir::Shape* shape = leading_shape(type);
    bool is_carried = shape != nullptr && axis < shape->size() && has_rows((*shape)[axis]);
    for (std::size_t i = 0; is_carried && i < shape->size(); ++i) {
      is_carried = i == axis || is_shared((*shape)[i]);
    }
    if (is_carried) return ok_status();
    return invalid_argument("mixes rows: no axis of the result {} has the rows", type.to_string());
  }

  Rows rows_of(ir::OperandId id) const { return id.is_valid() ? rows_[id.index()] : Rows(); }

  std::vector<Rows> rows_of(const std::vector<ir::OperandId>& ids) const {
    std::vector<Rows> all;
    for (const ir::OperandId id : ids) all.push_back(rows_of(id));
    return all;
  }

  Status run_operation(const ir::Operation& operation) {
    const OpSchema* schema = find_schema(operation.domain, operation.kind);
    // Control flow and sequences are not followed.
    if (schema == nullptr || schema->has(kControlFlow)) return unknown();
    if (schema->has(kRandom) || schema->has(kRunState)) {
      return invalid_argument("draws random numbers, which depend on a row's place");
    }
    const auto inputs = input_facts(operation, facts_);
    InferenceContext context(operation, inputs);
    context.hide_bounds();
    const std::vector<Rows> rows = rows_of(operation.inputs);
    const std::vector<Rows> body_rows =
        operation.body ? rows_of(operation.body->inputs) : std::vector<Rows>();
    SLUICE_TRY(infer_operation(context));
    std::vector<Rows> results = SLUICE_TRY(results_of(*schema, context, rows));
    if (results.size() == 1) results.resize(operation.outputs.size(), results.front());
    if (operation.body) SLUICE_TRY(apply_body(context, operation, body_rows, results.front()));
    return keep(operation, context, results);
  }

  static Status unknown() { return invalid_argument("is not known to keep rows apart"); }

  RowsResult results_of(const OpSchema& schema, const InferenceContext& context,
                        std::span<const Rows> rows) const {
    const bool has_rows = std::ranges::any_of(rows, &Rows::is_rows);
    const bool has_count =
        std::ranges::any_of(rows, [](const Rows& one) { return one.kind == Rows::Kind::kCount; });
    const ir::Operation& operation = context.operation();
    if (!has_rows) {
      if (!has_count) return std::vector{Rows()};
      return std::vector{spread(context, rows)};
    }
    if (operation.is("Shape") || operation.is("Size")) {
      return std::vector{Rows{Rows::Kind::kCount}};
    }
    SLUICE_TRY(check_shape_inputs(schema, rows));
    const RowContext row_context(context, rows);
    if (schema.has(kElementwise)) return elementwise_rows(row_context);
    const RowRule rule = find_rule(operation);
    if (rule == nullptr) return unknown();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].is_rows() && context.shape(i) == nullptr) return unknown();
    }
    return rule(row_context);
  }

  /// Numbers of rows serve as shapes only, and data never does.
  static Status check_shape_inputs(const OpSchema& schema, std::span<const Rows> rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool is_shape = i < schema.inputs.size() && schema.inputs[i].is_shape_value;
      if (rows[i].kind == Rows::Kind::kCount && !is_shape) {
        return invalid_argument("mixes rows: it computes with the number of rows");
      }
      if (rows[i].is_rows() && is_shape) {
        return invalid_argument("mixes rows: its input \"{}\" comes from them",
                                schema.inputs[i].name);
      }
    }
    return ok_status();
  }

  /// One value for each of the rows: ConstantOfShape, or Expand of a value that has none of its
  /// own.
  Rows spread(const InferenceContext& context, std::span<const Rows> rows) const {
    const ir::Operation& operation = context.operation();
    const bool is_expanded = operation.is("Expand") && rows.front().is_none();
    if (!is_expanded && !operation.is("ConstantOfShape")) return {Rows::Kind::kCount};
    const ir::Shape* shape = leading_shape(context.output(0));
    if (shape == nullptr) return {Rows::Kind::kCount};
    std::size_t axis = 0;
    while (axis < shape->size() && is_shared((*shape)[axis])) ++axis;
    if (!check_rows(context.output(0), axis).is_ok()) return {Rows::Kind::kCount};
    if (!is_expanded) return Rows::at(axis);
    const ir::Shape* data = context.shape(0);
    if (data == nullptr || data->size() > shape->size()) return {Rows::Kind::kCount};
    const std::size_t missing = shape->size() - data->size();
    const bool is_same = axis < missing || (*data)[axis - missing].is(1);
    return is_same ? Rows::at(axis) : Rows{Rows::Kind::kCount};
  }

  /// The body is element-wise: its inputs are broadcast to the operation's result.
  Status apply_body(const InferenceContext& context, const ir::Operation& operation,
                    std::span<const Rows> body_rows, Rows& result) const {
    const ir::Shape* shape = context.output(0).shape();
    if (shape == nullptr) return unknown();
    std::vector<RowOperand> operands;
    if (!operation.is("Elementwise", "sluice")) operands.push_back({shape, result});
    for (std::size_t i = 0; i < body_rows.size(); ++i) {
      const ir::OperandId input = operation.body->inputs[i];
      operands.push_back({facts_[input.index()].type.shape(), body_rows[i]});
    }
    const ir::Subgraph& body = graph_.subgraph(operation.body->subgraph);
    for (const ir::OperationId id : body.order()) {
      const ir::Operation& inner = body.operation(id);
      const OpSchema* schema = find_schema(inner.domain, inner.kind);
      if (schema == nullptr || !schema->has(kElementwise)) return unknown();
    }
    for (std::size_t i = 0; i < body.num_operands(); ++i) {
      const ir::Constant* constant = body.find_constant(ir::OperandId(i));
      if (constant != nullptr) operands.push_back({constant->type.shape(), Rows()});
    }
    const bool has_count = std::ranges::any_of(operands, [](const RowOperand& operand) {
      return operand.rows.kind == Rows::Kind::kCount;
    });
    const bool has_rows =
        std::ranges::any_of(operands, [](const RowOperand& one) { return one.rows.is_rows(); });
    if (has_count && !has_rows) {
      result = {Rows::Kind::kCount};
    } else {
      result = SLUICE_TRY(broadcast_rows(operands, *shape));
    }
    return ok_status();
  }

  Status keep(const ir::Operation& operation, const InferenceContext& context,
              std::span<const Rows> results) {
    for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
      const ir::OperandId output = operation.outputs[i];
      if (!output.is_valid()) continue;
      Rows& rows = rows_[output.index()];
      rows = results[i];
      if (rows.is_rows()) SLUICE_TRY(check_rows(context.output(i), rows.axis));
      const auto& values = context.output_values(i);
      ir::Type type = context.output(i);
      const ir::Type& declared = main_.operand(output).type;
      // The element type of a body's result is not inferred here; the proof does not need it.
      if (type.is_tensor() && type.element() == ir::ElementType::kUndefined) {
        type = type.with_element(declared.element());
      }
      facts_[output.index()] = {std::move(type), values, std::nullopt};
      const auto is_shared_value = [&](const ir::Dim& value) { return is_shared(value); };
      if (rows.kind == Rows::Kind::kCount && values &&
          std::ranges::all_of(*values, is_shared_value)) {
        rows = Rows();
      }
    }
    return ok_status();
  }

  Status check_outputs() const {
    for (const ir::OperandId output : main_.outputs) {
      const ir::Type& type = facts_[output.index()].type;
      const ir::Shape* shape = leading_shape(type);
      if (rows_of(output).are_at(0) && shape != nullptr && shape->front() == count_) continue;
      return invalid_argument("output \"{}\" is {}, which has no entry for each row",
                              main_.operand(output).name, type.to_string());
    }
    return ok_status();
  }

  const ir::Graph& graph_;
  const ir::Subgraph& main_;
  ir::Dim count_;  ///< of rows: a symbol, or the number that the model was compiled for
  std::set<std::string, std::less<>> shared_symbols_;
  SubgraphFacts facts_;
  std::vector<Rows> rows_;  ///< by operand
};

}  // namespace

Status prove_rows(const ir::Graph& graph) { return RowProof(graph).run(); }

}  // namespace sluice::ops
