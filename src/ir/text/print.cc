#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "ir/text/graph_text.h"
#include "ir/text/literal.h"

namespace sluice::ir {
namespace {

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

/// The words of the grammar stand in docs/formats/ir-text.md; parse_graph.cc reads what this file
/// writes.
template <typename T, typename Print>
std::string list_text(std::string_view prefix, const std::vector<T>& values, const Print& print) {
  std::vector<std::string> words;
  for (const T& value : values) words.push_back(print(value));
  return fmt::format("{}[{}]", prefix, join(words));
}

class Printer {
 public:
  Printer(const Graph& graph, const ConstantNumber& number) : graph_(graph), number_(number) {}

  std::string run() {
    for (const auto& [name, value] : graph_.metadata) {
      line(0, fmt::format("fact {} = {}", quote(name), quote(value)));
    }
    for (std::size_t i = 0; i < graph_.num_subgraphs(); ++i) print_subgraph(SubgraphId(i));
    return std::move(text_);
  }

 private:
  void line(int indent, std::string_view content) {
    text_.append(static_cast<std::size_t>(indent) * 2, ' ');
    text_ += content;
    text_ += '\n';
  }

  void print_subgraph(SubgraphId id) {
    const Subgraph& subgraph = graph_.subgraph(id);
    subgraph_ = &subgraph;
    // Names are those of one subgraph: operands of two subgraphs may share a name.
    names_.clear();
    taken_.clear();
    num_unnamed_ = 0;
    line(0, fmt::format("subgraph @{} {} {{", id.value(), quote(subgraph.name)));
    for (const OperandId input : subgraph.inputs) line(1, "input " + declaration(input));
    for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
      const OperandId operand(i);
      if (const Constant* constant = subgraph.find_constant(operand)) {
        line(1, fmt::format("const {} = {}", declaration(operand), constant_text(*constant)));
      }
    }
    // In the order of execution: the parser makes an operand at its first mention, so no order
    // could be wrong, but a reader follows this one.
    for (const OperationId operation : subgraph.order()) {
      line(1, operation_text(subgraph.operation(operation)));
    }
    line(1, "output " + list_text("", subgraph.outputs, [&](OperandId o) { return name(o); }));
    line(0, "}");
  }

  /// The operand's own name, or a number where it has none or shares it.
  const std::string& name(OperandId id) {
    static const std::string kAbsent = "_";
    if (!id.is_valid()) return kAbsent;
    const auto it = names_.find(id);
    if (it != names_.end()) return it->second;
    const std::string& own = subgraph_->operand(id).name;
    std::string chosen;
    // The first operand with a name keeps it. The text need not tell later ones apart by name.
    if (own.empty() || !taken_.insert(own).second) {
      chosen = fmt::format("%{}", num_unnamed_++);
    } else {
      // A name of digits would be taken for the number of an unnamed operand.
      const bool looks_like_number = own.find_first_not_of("0123456789") == std::string::npos;
      chosen = "%" + (is_plain_word(own) && !looks_like_number ? own : quote(own));
    }
    return names_.emplace(id, std::move(chosen)).first->second;
  }

  std::string declaration(OperandId id) {
    return id.is_valid() ? name(id) + " : " + subgraph_->operand(id).type.to_string() : name(id);
  }

  std::string constant_text(const Constant& constant) const {
    if (number_) {
      if (const auto number = number_(constant)) return fmt::format("#{}", *number);
    }
    if (is_left_out(constant)) return "left_out";
    // Longer constants are bytes in hexadecimal, which are shorter.
    constexpr std::int64_t kMaxInPlace = 64;
    const auto count = constant.type.is_static() ? num_elements(*constant.type.shape()) : 0;
    const bool is_splat = count > 1 && all_elements_equal(constant, *count);
    if (is_splat || count <= kMaxInPlace) {
      const auto words = element_words(is_splat ? first_element(constant, *count) : constant);
      if (words && !is_splat) return "[" + join(*words) + "]";
      if (words) return "splat " + words->front();
    }
    return "hex " + to_hex_or_empty(constant);
  }

  static bool all_elements_equal(const Constant& constant, std::int64_t count) {
    const auto size = constant.data.size() / static_cast<std::size_t>(count);
    if (size == 0 || size * static_cast<std::size_t>(count) != constant.data.size()) return false;
    // Each element equals its successor exactly if the bytes equal themselves shifted by one
    // element.
    return std::memcmp(constant.data.data(), constant.data.data() + size,
                       constant.data.size() - size) == 0;
  }

  // A scalar of the same type, printed as any other constant.
  static Constant first_element(const Constant& constant, std::int64_t count) {
    const auto size = constant.data.size() / static_cast<std::size_t>(count);
    return {Type::tensor(constant.type.element(), Shape{}), constant.data.slice(0, size)};
  }

  static std::string to_hex_or_empty(const Constant& constant) {
    return constant.data.size() == 0 ? "-" : to_hex(constant.data.view());
  }

  std::string operation_text(const Operation& operation) {
    std::string text =
        list_text("", operation.outputs, [&](OperandId o) { return declaration(o); });
    const std::string full =
        operation.domain.empty() ? operation.kind : operation.domain + "::" + operation.kind;
    text += fmt::format(" = {}.{}", is_plain_word(full) ? full : quote(full), operation.version);
    const auto print_name = [&](OperandId input) { return name(input); };
    text += list_text("", operation.inputs, print_name);
    if (operation.body) {
      text += fmt::format(" body @{}", operation.body->subgraph.value());
      text += list_text("", operation.body->inputs, print_name);
    }
    if (!operation.attributes.empty()) text += " " + attributes_text(operation.attributes);
    if (!operation.name.empty()) text += " " + quote(operation.name);
    return text;
  }

  std::string attributes_text(const Attributes& attributes) const {
    std::vector<std::string> words;
    for (const auto& [key, value] : attributes) {
      words.push_back(fmt::format("{} = {}", is_plain_word(key) ? key : quote(key),
                                  std::visit([&](const auto& v) { return value_text(v); }, value)));
    }
    return "{" + join(words) + "}";
  }

  static std::string value_text(std::int64_t value) { return std::to_string(value); }
  static std::string value_text(float value) { return float_text(value, true); }
  static std::string value_text(const std::string& value) { return quote(value); }
  static std::string value_text(SubgraphId value) { return fmt::format("@{}", value.value()); }
  static std::string value_text(const Type& value) { return "type " + value.to_string(); }
  std::string value_text(const Constant& value) const {
    return fmt::format("tensor {} = {}", value.type.to_string(), constant_text(value));
  }
  static std::string value_text(const std::vector<std::int64_t>& values) {
    return list_text("", values, [](std::int64_t v) { return std::to_string(v); });
  }
  static std::string value_text(const std::vector<float>& values) {
    return list_text("floats ", values, [](float v) { return float_text(v, true); });
  }
  static std::string value_text(const std::vector<std::string>& values) {
    return list_text("texts ", values, [](const std::string& v) { return quote(v); });
  }
  static std::string value_text(const std::vector<SubgraphId>& values) {
    return list_text("subgraphs ", values, [](SubgraphId v) { return value_text(v); });
  }
  std::string value_text(const std::vector<Constant>& values) const {
    return list_text("tensors ", values, [&](const Constant& v) { return value_text(v); });
  }

  const Graph& graph_;
  const ConstantNumber& number_;
  const Subgraph* subgraph_ = nullptr;
  std::unordered_map<OperandId, std::string> names_;
  std::unordered_set<std::string> taken_;
  int num_unnamed_ = 0;
  std::string text_;
};

}  // namespace

std::string kind_text(const Graph& graph, const Operation& operation) {
  std::string kind =
      operation.domain.empty() ? operation.kind : operation.domain + "::" + operation.kind;
  if (!operation.body) return kind;
  const Subgraph& body = graph.subgraph(operation.body->subgraph);
  for (const OperationId id : body.order()) kind += "+" + body.operation(id).kind;
  return kind;
}

std::string print(const Graph& graph, const ConstantNumber& number) {
  return Printer(graph, number).run();
}

}  // namespace sluice::ir
