#include <fmt/ranges.h>

#include <string>

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

std::string names_of(const std::vector<ir::ElementType>& types) {
  std::string text;
  for (const ir::ElementType type : types) {
    if (!text.empty()) text += ", ";
    text += ir::element_type_name(type);
  }
  return text;
}

/// What runs an operation of the kind with `backend`: a list of element types, or whoever does.
std::string support_of(const backend::Backend& backend, const ops::OpSchema& schema) {
  if (schema.has(ops::kControlFlow)) return "executor";
  if (schema.has(ops::kView)) return "any: a view";
  if (schema.has(ops::kRunState)) return "executor";
  if (schema.has(ops::kLowered)) return "as two operators of sluice";
  if (ops::find_lowering(schema.domain, schema.name) != nullptr) return "as ONNX's operators";
  if (schema.name == "Elementwise") return "as its steps";
  const std::string types = names_of(types_taken(backend, schema));
  if (types.empty() && schema.name == "Upsample") return "as Resize";
  return types.empty() ? "-" : types;
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
    return 0;
  }

 private:
  void print_heading() const {
    fmt::print(
        "# Operators\n\n"
        "The operator table: versions are the opsets of its domain in which an operator's "
        "definition"
        "\nchanged. A backend's column has the element types that it takes for the first input;"
        "\nother inputs may narrow that. `sluice operators --backend cpu` asks another backend.\n\n"
        "This file is what `sluice operators --backend reference --markdown` prints; a test "
        "compares"
        " them.\n\n| operator | versions | what it computes |");
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
    for (const auto& backend : loaded_) line += separator + support_of(*backend, schema);
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
