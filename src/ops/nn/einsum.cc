// Einsum: sums of products named by letters, "bij,bjk->bik".
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

/// One operand's letters; an ellipsis is the character '.'.
struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// What an equation without "->" means: the ellipsis, then letters that stand once, sorted.
std::string implicit_output(const std::vector<std::string>& inputs) {
  std::map<char, int> counts;
  for (const std::string& term : inputs) {
    for (const char c : term) ++counts[c];
  }
  std::string output;
  if (counts.count('.') > 0) output = ".";
  for (const auto& [letter, count] : counts) {
    if (letter != '.' && count == 1) output += letter;
  }
  return output;
}

Result<Equation> parse_equation(const InferenceContext& context, const std::string& text) {
  std::vector<std::string> terms(1);
  bool has_arrow = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (is_letter(c)) {
      terms.back() += c;
    } else if (text.compare(i, 3, "...") == 0 && terms.back().find('.') == std::string::npos) {
      terms.back() += '.';
      i += 2;
    } else if (c == ',' && !has_arrow) {
      terms.emplace_back();
    } else if (text.compare(i, 2, "->") == 0 && !has_arrow) {
      has_arrow = true;
      terms.emplace_back();
      ++i;
    } else {
      return context.error("equation \"{}\" has an unexpected '{}' at {}", text, c, i);
    }
  }
  Equation equation;
  if (has_arrow) {
    equation.output = std::move(terms.back());
    terms.pop_back();
  }
  equation.inputs = std::move(terms);
  if (!has_arrow) equation.output = implicit_output(equation.inputs);
  return equation;
}

/// What each letter, and the ellipsis, stands for.
struct Sizes {
  std::map<char, ir::Dim> letters;
  ir::Shape ellipsis;
};

/// A letter's dimensions broadcast against each other, as those of an ellipsis do.
Status bind_letter(const InferenceContext& context, Sizes& sizes, char letter, const ir::Dim& dim) {
  const auto [it, is_new] = sizes.letters.emplace(letter, dim);
  if (is_new) return ok_status();
  auto joined = broadcast_shapes({it->second}, {dim});
  if (!joined.is_ok()) {
    return context.error("letter '{}' is {} and {}", letter, it->second.to_string(),
                         dim.to_string());
  }
  it->second = joined.value()[0];
  return ok_status();
}

Status bind_term(const InferenceContext& context, Sizes& sizes, const std::string& term,
                 const ir::Shape& shape) {
  const std::size_t dots = term.find('.');
  const std::size_t letters = term.size() - (dots == std::string::npos ? 0 : 1);
  if (shape.size() < letters || (dots == std::string::npos && shape.size() != letters)) {
    return context.error("equation \"{}\": term \"{}\" does not fit shape {}",
                         context.text_attribute("equation"), term, ir::shape_to_string(shape));
  }
  // What the letters leave of the shape belongs to the ellipsis.
  const std::size_t hidden = shape.size() - letters;
  std::size_t axis = 0;
  for (const char c : term) {
    if (c != '.') {
      SLUICE_TRY(bind_letter(context, sizes, c, shape[axis++]));
      continue;
    }
    const auto begin = shape.begin() + static_cast<std::ptrdiff_t>(axis);
    auto joined = broadcast_shapes(sizes.ellipsis,
                                   ir::Shape(begin, begin + static_cast<std::ptrdiff_t>(hidden)));
    if (!joined.is_ok()) return context.error("\"...\": {}", joined.status().message());
    sizes.ellipsis = std::move(joined).value();
    axis += hidden;
  }
  return ok_status();
}

Status infer_einsum(InferenceContext& context) {
  const Equation equation = SLUICE_TRY(parse_equation(context, context.text_attribute("equation")));
  if (equation.inputs.size() != context.num_inputs()) {
    return context.error("equation \"{}\" names {} inputs, {} are given",
                         context.text_attribute("equation"), equation.inputs.size(),
                         context.num_inputs());
  }
  Sizes sizes;
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    if (context.shape(i) == nullptr) return ok_status();
    SLUICE_TRY(bind_term(context, sizes, equation.inputs[i], *context.shape(i)));
  }
  ir::Shape shape;
  for (const char c : equation.output) {
    if (c == '.') {
      shape.insert(shape.end(), sizes.ellipsis.begin(), sizes.ellipsis.end());
      continue;
    }
    const auto it = sizes.letters.find(c);
    // A letter that stands twice in the output would be a diagonal, which ONNX does not have.
    if (it == sizes.letters.end() ||
        std::count(equation.output.begin(), equation.output.end(), c) != 1) {
      return context.error("output letter '{}' must stand in an input, and once", c);
    }
    shape.push_back(it->second);
  }
  context.set_output(0, context.element(0), std::move(shape));
  return ok_status();
}

}  // namespace

std::vector<OpSchema> einsum_ops() {
  return {{.name = "Einsum",
           .versions = {12, 28},
           .doc = "sum of products over letters, as in \"bij,bjk->bik\"",
           .inputs = {{.name = "Inputs", .types = kNumbers, .variable = "T", .is_variadic = true}},
           .outputs = {{"Output", kNumbers, "T"}},
           .attributes = {{"equation", std::nullopt, true}},
           .infer = infer_einsum,
           .upgrade = upgrade_unchanged}};
}

}  // namespace sluice::ops
