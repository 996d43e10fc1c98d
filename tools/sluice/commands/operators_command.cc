#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ops/lowering/lower_operations.h"
#include "ops/schema.h"
#include "sluice/cli/command.h"
#include "sluice/commands/operator_probe.h"
#include "sluice/model/model_source.h"

namespace sluice::tool {
namespace {

std::string full_name(const ops::OpSchema& schema) {
  const std::string name(schema.name);
  return schema.domain.empty() ? name : std::string(schema.domain) + "::" + name;
}

std::string versions_of(const ops::OpSchema& schema) {
  return fmt::format("{}", fmt::join(schema.versions, ", "));
}

/// A set of element types that the document names once, in its heading.
struct TypeSet {
  std::string_view name;
  std::vector<ir::ElementType> types;
};

/// The larger set of two that overlap comes first: names_of takes the first that fits.
const std::vector<TypeSet>& type_sets() {
  using ir::ElementType;
  static const std::vector<TypeSet> sets = [] {
    TypeSet all{"all", {}};
    for (int number = 1; ir::element_type_from_onnx(number); ++number) {
      all.types.push_back(*ir::element_type_from_onnx(number));
    }
    const TypeSet integers{
        "integers",
        {ElementType::kU8, ElementType::kI8, ElementType::kU16, ElementType::kI16,
         ElementType::kI32, ElementType::kI64, ElementType::kU32, ElementType::kU64}};
    const TypeSet floats{
        "floats", {ElementType::kF32, ElementType::kF16, ElementType::kF64, ElementType::kBf16}};
    const TypeSet eight_bits{"f8",
                             {ElementType::kF8E4M3Fn, ElementType::kF8E4M3Fnuz,
                              ElementType::kF8E5M2, ElementType::kF8E5M2Fnuz}};
    return std::vector<TypeSet>{all, integers, floats, eight_bits};
  }();
  return sets;
}

/// Names of types, separated by commas. With `with_sets` a set that `types` has whole stands for
/// its types.
std::string names_of(std::vector<ir::ElementType> types, bool with_sets) {
  std::vector<std::string_view> names;
  const auto take = [&](const TypeSet& set) {
    const auto is_there = [&](ir::ElementType type) { return std::ranges::count(types, type) > 0; };
    if (!std::ranges::all_of(set.types, is_there)) return;
    names.push_back(set.name);
    std::erase_if(types, [&](auto type) { return std::ranges::count(set.types, type) > 0; });
  };
  if (with_sets) std::ranges::for_each(type_sets(), take);
  for (const ir::ElementType type : types) names.push_back(ir::element_type_name(type));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// What runs an operation of the kind with `backend`: a list of element types, or whoever does.
std::string support_of(const backend::Backend& backend, const ops::OpSchema& schema,
                       bool with_sets) {
  if (schema.has(ops::kControlFlow)) return "executor";
  if (schema.has(ops::kView)) return "any: a view";
  if (schema.has(ops::kRunState)) return "executor";
  if (schema.has(ops::kLowered)) return "as two operators of sluice";
  if (ops::find_lowering(schema.domain, schema.name) != nullptr) return "as ONNX's operators";
  if (schema.name == "Elementwise") return "as its steps";
  const TypesTaken taken = types_taken(backend, schema);
  const std::string own = names_of(taken.own, with_sets);
  const std::string generic = names_of(taken.generic, with_sets);
  if (own.empty() && generic.empty()) return schema.name == "Upsample" ? "as Resize" : "-";
  if (generic.empty()) return own;
  return own + (own.empty() ? "" : "; ") + "generic: " + generic;
}

class OperatorsCommand : public Command {
 public:
  const char* name() const override { return "operators"; }

  void add_options(Options& options) override {
    options.add("--backend", backends_, "Backends to list: a,b")
        .separated_by_commas()
        .shows_default();
    options.flag("--markdown", is_markdown_, "Print the table of docs/operators.md");
  }

  Result<int> run() override {
    for (const std::string& backend : backends_) {
      loaded_.push_back(SLUICE_TRY(backend_registry().find(backend)));
    }
    if (is_markdown_) print_heading();
    for (const ops::OpSchema* schema : ops::all_schemas()) print(*schema);
    if (is_markdown_) fmt::print("<!-- operators: end -->\n");
    return 0;
  }

 private:
  void print_heading() const {
    fmt::print(
        "# Operators\n\n"
        "The operator table: versions are the opsets of its domain in which an operator's "
        "definition"
        "\nchanged. A backend's column has the element types that it takes for the first input;"
        "\nother inputs may narrow that. Types behind `generic` have no kernel of the backend's "
        "own: a"
        "\nreference kernel runs them, slowly, unless a rewrite replaces the operator, such as"
        "\nBatchNormalization. `sluice inspect` shows what runs in a model.\n\n"
        "This file is what `sluice operators --backend reference,cpu --markdown` prints; a test "
        "compares them.\n\n<!-- operators: begin -->\n| types | are |\n|---|---|\n");
    for (const TypeSet& set : type_sets()) {
      fmt::print("| {} | {} |\n", set.name, names_of(set.types, false));
    }
    fmt::print("\n| operator | versions | what it computes |");
    std::string rule = "|---|---|---|";
    for (const std::string& backend : backends_) {
      fmt::print(" {} |", backend);
      rule += "---|";
    }
    fmt::print("\n{}\n", rule);
  }

  void print(const ops::OpSchema& schema) const {
    const std::string separator = is_markdown_ ? " | " : "  ";
    std::string line = full_name(schema) + separator + versions_of(schema);
    if (is_markdown_) line = "| " + line + separator + escaped(schema.doc);
    for (const auto& backend : loaded_)
      line += separator + support_of(*backend, schema, is_markdown_);
    fmt::print("{}{}\n", line, is_markdown_ ? " |" : "");
  }

  /// A bar would end the cell.
  static std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
    return result;
  }

  std::vector<std::string> backends_ = {"reference"};
  std::vector<std::shared_ptr<const backend::Backend>> loaded_;
  bool is_markdown_ = false;
};

}  // namespace

std::unique_ptr<Command> make_operators_command() { return std::make_unique<OperatorsCommand>(); }

}  // namespace sluice::tool
