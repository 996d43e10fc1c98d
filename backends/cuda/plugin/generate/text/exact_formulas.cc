#include "plugin/generate/text/exact_formulas.h"

#include <algorithm>
#include <map>

#include "plugin/generate/text/text.h"
#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

using Names = std::vector<std::string>;

struct Formula {
  std::string_view text;  // `$0`, `$1` and `$2` stand for the inputs
  std::size_t num_inputs;
  bool takes_reals;  // as well as integers and bools
};

const std::map<std::string_view, Formula>& formulas() {
  static const std::map<std::string_view, Formula> kFormulas = {
      {"Abs", {"$0 < 0 ? -$0 : $0", 1, false}},
      {"Add", {"$0 + $1", 2, false}},
      {"And", {"$0 && $1", 2, false}},
      {"BitwiseAnd", {"$0 & $1", 2, false}},
      {"BitwiseNot", {"~$0", 1, false}},
      {"BitwiseOr", {"$0 | $1", 2, false}},
      {"BitwiseXor", {"$0 ^ $1", 2, false}},
      {"Div", {"$0 / $1", 2, false}},
      {"Equal", {"$0 == $1", 2, true}},
      {"Expand", {"$0", 1, true}},
      {"Greater", {"$0 > $1", 2, true}},
      {"GreaterOrEqual", {"$0 >= $1", 2, true}},
      {"IsNaN", {"$0 != $0", 1, true}},
      {"Less", {"$0 < $1", 2, true}},
      {"LessOrEqual", {"$0 <= $1", 2, true}},
      {"Mul", {"$0 * $1", 2, false}},
      {"Neg", {"-$0", 1, false}},
      {"Not", {"!$0", 1, false}},
      {"Or", {"$0 || $1", 2, false}},
      {"Relu", {"$0 < 0 ? 0 : $0", 1, false}},
      {"Sign", {"$0 > 0 ? 1 : $0 < 0 ? -1 : $0", 1, false}},
      {"Sub", {"$0 - $1", 2, false}},
      {"Where", {"$0 ? $1 : $2", 3, true}},
      {"Xor", {"$0 != $1", 2, false}},
  };
  return kFormulas;
}

sluice_element_type type_of(const sluice_op& op, int input) {
  return op.inputs[input].tensor.element_type;
}

/// The remainder; Python's, with the sign of the divisor, without `fmod`.
std::string write_mod(const sluice_op& op, const Names& inputs) {
  const bool is_fmod = plugin::Attributes(op).get_int("fmod") != 0;
  const sluice_element_type type = type_of(op, 0);
  if (is_real(type)) return is_fmod ? fill_expression("fmodf($0, $1)", inputs) : "";
  if (!is_integer(type)) return "";
  const bool is_signed =
      type == plugin::kI8 || type == plugin::kI16 || type == plugin::kI32 || type == plugin::kI64;
  // The divisor's sign. Added only to a rest of the other sign, so that no sum overflows.
  return fill_expression(is_signed && !is_fmod
                             ? "$0 % $1 != 0 && ($0 % $1 < 0) != ($1 < 0) ? $0 % $1 + $1 : $0 % $1"
                             : "$0 % $1",
                         inputs);
}

/// A shift by the width of the type or more gives 0.
std::string write_shift(const sluice_op& op, const Names& inputs) {
  const std::string_view direction = plugin::Attributes(op).get_text("direction");
  if (direction != "LEFT" && direction != "RIGHT") return "";
  const bool is_left = direction == "LEFT";
  const std::string width = std::to_string(plugin::element_bits(type_of(op, 0)));
  return fill_expression(is_left ? "$1 < $2 ? $0 << $1 : 0" : "$1 < $2 ? $0 >> $1 : 0",
                         {inputs[0], inputs[1], width});
}

std::string write_is_inf(const sluice_op& op, const Names& inputs) {
  const plugin::Attributes attributes(op);
  std::string text = "0";
  if (attributes.get_int("detect_positive", 1) != 0) text = "$0 == __int_as_float(0x7f800000)";
  if (attributes.get_int("detect_negative", 1) != 0) text += " || $0 == __int_as_float(0xff800000)";
  return is_real(type_of(op, 0)) ? fill_expression(text, inputs) : "";
}

std::string write_cast(const sluice_op& op, const Names& inputs) {
  const sluice_element_type to = op.outputs[0].tensor.element_type;
  if (to == plugin::kBool) return fill_expression("$0 != 0", inputs);
  // Real numbers of 16 bits are made from, and read as, float.
  if (is_real(to)) return fill_expression("float($0)", inputs);
  const bool from_real = is_real(type_of(op, 0));
  return "(" + std::string(type_name(to)) + ")(" + (from_real ? "float(" : "(") + inputs[0] + "))";
}

std::string write_clip(const Names& inputs) {
  std::string value = inputs[0];
  if (inputs.size() > 1 && !inputs[1].empty()) {
    value = fill_expression("$0 < $1 ? $1 : $0", {value, inputs[1]});
  }
  if (inputs.size() > 2 && !inputs[2].empty()) {
    value = fill_expression("$0 > $1 ? $1 : $0", {value, inputs[2]});
  }
  return value;
}

/// Compares two at a time. A NaN, of f64, remains.
std::string write_extreme(bool is_max, const Names& inputs) {
  std::string value = inputs[0];
  for (const std::string& next : std::span(inputs).subspan(1)) {
    value = fill_expression(
        is_max ? "$0 < $1 || $1 != $1 ? $1 : $0" : "$1 < $0 || $1 != $1 ? $1 : $0", {value, next});
  }
  return value;
}

bool is_comparison(std::string_view kind) {
  return kind == "Equal" || kind.starts_with("Greater") || kind.starts_with("Less") ||
         kind == "IsNaN" || kind == "IsInf";
}

bool is_logic(std::string_view kind) {
  return kind == "And" || kind == "Or" || kind == "Xor" || kind == "Not";
}

/// The types are those of the operator's schema.
bool types_agree(const sluice_op& op) {
  const std::string_view kind = op.kind;
  const sluice_element_type result = op.outputs[0].tensor.element_type;
  if (kind == "Cast" || kind == "CastLike") return true;
  if (kind == "Expand") return type_of(op, 0) == result;
  auto inputs = plugin::inputs_of(op);
  if (kind == "Where") {
    if (type_of(op, 0) != plugin::kBool) return false;
    inputs = inputs.subspan(1);
  }
  const bool gives_bool = is_comparison(kind) || is_logic(kind);
  if (gives_bool && result != plugin::kBool) return false;
  const sluice_element_type taken = is_comparison(kind) ? type_of(op, 0) : result;
  return std::ranges::all_of(inputs, [&](const sluice_operand& input) {
    return plugin::is_absent(input.tensor) || input.tensor.element_type == taken;
  });
}

/// A kernel cannot report a division by zero, so a divisor must be known and not 0.
bool has_safe_divisor(const sluice_op& op) {
  const std::string_view kind = op.kind;
  if ((kind != "Div" && kind != "Mod") || !is_integer(type_of(op, 0))) return true;
  const sluice_operand& divisor = op.inputs[1];
  if (divisor.is_constant == 0 || divisor.tensor.data == nullptr) return false;
  const auto size = static_cast<std::size_t>(plugin::element_bits(type_of(op, 0)) / 8);
  const auto* bytes = static_cast<const char*>(divisor.tensor.data);
  for (std::int64_t i = 0; i < plugin::num_elements(divisor.tensor); ++i) {
    const auto* first = bytes + static_cast<std::size_t>(i) * size;
    if (std::all_of(first, first + size, [](char byte) { return byte == 0; })) return false;
  }
  return true;
}

std::string write(const sluice_op& op, const Names& inputs) {
  const std::string_view kind = op.kind;
  const sluice_element_type type = type_of(op, 0);
  if (kind == "Cast" || kind == "CastLike") return write_cast(op, inputs);
  if (kind == "Mod" && inputs.size() == 2) return write_mod(op, inputs);
  if (kind == "BitShift" && inputs.size() == 2) return write_shift(op, inputs);
  if (kind == "IsInf") return write_is_inf(op, inputs);
  const bool is_exact = !is_real(type);
  if (kind == "Clip" && is_exact) return write_clip(inputs);
  if ((kind == "Max" || kind == "Min") && is_exact) return write_extreme(kind == "Max", inputs);
  const auto found = formulas().find(kind);
  if (found == formulas().end() || inputs.size() != found->second.num_inputs) return "";
  if (!is_exact && !found->second.takes_reals) return "";
  return fill_expression(found->second.text, inputs);
}

}  // namespace

Status write_exact_formula(const sluice_op& op, const Names& inputs, std::string* expression) {
  expression->clear();
  const bool is_clip = std::string_view(op.kind) == "Clip";
  const bool lacks_input = std::ranges::find(inputs, "") != inputs.end() && !is_clip;
  const bool has_types = std::ranges::none_of(
      plugin::inputs_of(op).first(inputs.size()), [](const sluice_operand& input) {
        return !plugin::is_absent(input.tensor) && type_name(input.tensor.element_type).empty();
      });
  const bool has_result = !type_name(op.outputs[0].tensor.element_type).empty();
  const bool has_all = !inputs.empty() && !inputs[0].empty() && !lacks_input;
  if (has_all && has_types && has_result && types_agree(op) && has_safe_divisor(op)) {
    *expression = write(op, inputs);
  }
  if (!expression->empty()) return plugin::ok();
  std::string types;
  for (const sluice_operand& input : plugin::inputs_of(op)) {
    types += (types.empty() ? "" : ", ") + std::to_string(input.tensor.element_type);
  }
  return plugin::unimplemented(plugin::kind_of(op) + ": no kernel for element types " + types);
}

}  // namespace sluice::cuda
