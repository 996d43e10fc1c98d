// Einsum, element by element of the output, summing over the letters that it lacks.
#include <algorithm>
#include <map>

#include "reference/families.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

/// A letter, or 256 + n for the n-th axis from the right under an ellipsis.
using Label = int;
constexpr Label kEllipsis = 256;

struct Equation {
  std::vector<std::vector<Label>> inputs;
  std::vector<Label> output;
  std::map<Label, std::int64_t> sizes;
};

/// Reads the labels of one term whose tensor has `rank` axes; false if the counts differ.
bool read_term(std::string_view term, std::size_t rank, std::vector<Label>* labels) {
  const auto dots = term.find("...");
  const std::size_t letters = dots == std::string_view::npos ? term.size() : term.size() - 3;
  if (letters > rank || (dots == std::string_view::npos && letters != rank)) return false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (std::size_t k = rank - letters; k-- > 0;) {
        labels->push_back(kEllipsis + static_cast<Label>(k));
      }
      i += 2;
    } else {
      labels->push_back(term[i]);
    }
  }
  return true;
}

/// Without "->": axes of an ellipsis, then letters that stand once, in order.
std::vector<Label> implicit_output(const Equation& equation) {
  std::map<Label, int> counts;
  for (const auto& labels : equation.inputs) {
    for (const Label label : labels) ++counts[label];
  }
  std::vector<Label> output;
  for (auto it = counts.rbegin(); it != counts.rend(); ++it) {
    // A size of 1 met before is a broadcast one.
    if (it->first >= kEllipsis) output.push_back(it->first);
  }
  for (const auto& [label, count] : counts) {
    if (label < kEllipsis && count == 1) output.push_back(label);
  }
  return output;
}

/// Sizes of 1 stretch.
bool bind_sizes(Dims dims, const std::vector<Label>& labels, Equation* equation) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::int64_t& size = equation->sizes.emplace(labels[i], dims[i]).first->second;
    if (size == 1) size = dims[i];
    if (dims[i] != 1 && dims[i] != size) return false;
  }
  return true;
}

Status parse(const Call& call, Equation* equation) {
  std::string text;
  for (const char c : call.attributes().get_text("equation")) {
    if (c != ' ') text += c;
  }
  const auto arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  for (int i = 0; i < call.num_inputs(); ++i) {
    const auto comma = left.find(',');
    const bool is_last = i + 1 == call.num_inputs();
    if ((comma == std::string_view::npos) != is_last)
      return refuse_model(call, "wrong number of terms");
    const Dims dims = input_dims(call, i);
    std::vector<Label> labels;
    if (!read_term(left.substr(0, comma), dims.size(), &labels) ||
        !bind_sizes(dims, labels, equation)) {
      return refuse_model(call, "equation \"" + text + "\" does not fit its inputs");
    }
    equation->inputs.push_back(std::move(labels));
    left.remove_prefix(is_last ? left.size() : comma + 1);
  }
  equation->output = implicit_output(*equation);
  if (arrow == std::string::npos) return plugin::ok();
  equation->output.clear();
  const auto rank = output_dims(call, 0).size();
  if (!read_term(std::string_view(text).substr(arrow + 2), rank, &equation->output)) {
    return refuse_model(call, "equation \"" + text + "\" does not fit its output");
  }
  return plugin::ok();
}

/// For each of `labels`, how far apart its neighbours lie in a tensor.
std::vector<std::int64_t> strides_over(const std::vector<Label>& labels,
                                       const std::vector<Label>& own, Dims dims) {
  const std::vector<std::int64_t> strides = strides_of(dims);
  std::vector<std::int64_t> result(labels.size(), 0);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t k = 0; k < own.size(); ++k) {
      // A letter that stands twice in a term walks the diagonal: both strides add up.
      if (own[k] == labels[i] && dims[k] != 1) result[i] += strides[k];
    }
  }
  return result;
}

Status run_einsum(const Call& call) {
  Equation equation;
  if (Status status = parse(call, &equation); !status.is_ok()) return status;
  std::vector<Label> labels = equation.output;
  std::vector<std::int64_t> sizes;
  for (const auto& [label, size] : equation.sizes) {
    if (std::ranges::find(equation.output, label) == equation.output.end()) labels.push_back(label);
  }
  for (const Label label : labels) {
    const auto found = equation.sizes.find(label);
    if (found == equation.sizes.end()) return refuse_model(call, "an output letter is in no input");
    if (std::ranges::count(labels, label) != 1)
      return refuse_model(call, "an output letter stands twice");
    sizes.push_back(found->second);
  }
  const Dims expected = Dims(sizes).first(equation.output.size());
  if (Status status = check_dims(call, call.output(0), expected, "output"); !status.is_ok()) {
    return status;
  }
  std::vector<std::vector<double>> values;
  std::vector<std::vector<std::int64_t>> strides;
  for (int i = 0; i < call.num_inputs(); ++i) {
    values.push_back(read_doubles(call.input(i)));
    if (values.back().size() != index(size_of(input_dims(call, i)))) {
      return refuse_model(call, "unknown element type");
      // The summed letters turn fastest, so each output element has `summed` terms in a row.
    }
    strides.push_back(strides_over(labels, equation.inputs[index(i)], input_dims(call, i)));
  }
  const std::int64_t total = size_of(sizes);
  const std::int64_t summed = size_of(Dims(sizes).subspan(equation.output.size()));
  if (total < 0) return refuse(call, "the sum has too many terms");
  std::vector<double> y(index(size_of(expected)), 0.0);
  std::vector<std::int64_t> at(labels.size(), 0);
  for (std::int64_t i = 0; i < total; ++i) {
    double product = 1;
    for (std::size_t k = 0; k < values.size(); ++k) {
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[k][d];
      product *= values[k][index(offset)];
    }
    y[index(i / summed)] += product;
    // Counts up like an odometer, the last letter first.
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == sizes[d];) at[d] = 0;
  }
  return write_doubles(call, 0, y);
}

}  // namespace

std::vector<KernelEntry> einsum_kernels() { return {{.kind = "Einsum", .run = run_einsum}}; }

}  // namespace sluice::reference
