#include "plugin/generate/text/text.h"

#include <algorithm>
#include <bit>

#include "plugin/generate/text/types.h"

namespace sluice::cuda {

bool agree(Dims a, Dims b) {
  return std::ranges::equal(a, b, [](std::int64_t x, std::int64_t y) { return agree(x, y); });
}

bool broadcasts_to(Dims operand, Dims dims) {
  if (operand.size() > dims.size()) return false;
  const Dims last = dims.last(operand.size());
  return std::ranges::equal(operand, last,
                            [](std::int64_t x, std::int64_t y) { return x == 1 || agree(x, y); });
}

Status shapes_disagree(const sluice_op& op) {
  std::string shapes;
  for (const sluice_operand& input : plugin::inputs_of(op)) {
    shapes += (shapes.empty() ? "" : ", ") + plugin::to_string(plugin::dims_of(input.tensor));
  }
  return plugin::invalid_argument(plugin::kind_of(op) + ": inputs " + shapes +
                                  " do not give output " +
                                  plugin::to_string(plugin::dims_of(op.outputs[0].tensor)));
}

std::string fill(std::string_view text, const std::vector<std::string>& inputs) {
  std::string filled;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      filled += text[i];
    } else {
      filled += inputs[static_cast<std::size_t>(text[++i] - '0')];
    }
  }
  return filled;
}

std::string fill_expression(std::string_view text, const std::vector<std::string>& inputs) {
  return "(" + fill(text, inputs) + ")";
}

std::string literal(float value) {
  return "__int_as_float(" + std::to_string(std::bit_cast<std::int32_t>(value)) + ")";
}

std::vector<Axis> merge(std::span<const Axis> axes) {
  std::vector<Axis> merged;
  for (const Axis& axis : axes) {
    if (axis.extent == 1) continue;
    if (!merged.empty() && merged.back().stride == axis.stride * axis.extent) {
      merged.back() = {merged.back().extent * axis.extent, axis.stride};
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

namespace {

/// The sum over the axes of (index / below % extent) * stride, where `below` is the product of the
/// extents of inner axes.
std::string offset_text(const std::string& index, std::span<const Axis> axes) {
  const std::vector<Axis> merged = merge(axes);
  std::string sum;
  std::int64_t below = 1;
  for (std::size_t i = merged.size(); i-- > 0;) {
    const auto& [extent, stride] = merged[i];
    if (stride != 0) {
      std::string term = index;
      if (below != 1) term += " / " + std::to_string(below);
      if (i != 0) term += " % " + std::to_string(extent);
      if (stride != 1 && term != index) term.insert(0, "(").append(")");
      if (stride != 1) term += " * " + std::to_string(stride);
      sum += (sum.empty() ? "" : " + ") + term;
    }
    below *= extent;
  }
  return sum.empty() ? "0" : sum;
}

}  // namespace

std::string strided_index(const std::string& index, Dims extents, Dims strides) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < extents.size(); ++i) axes.push_back({extents[i], strides[i]});
  return offset_text(index, axes);
}

std::vector<Axis> stretched_axes(Dims operand, Dims dims) {
  const std::size_t missing = dims.size() - operand.size();
  std::vector<Axis> axes(dims.size());
  std::int64_t stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    const std::int64_t extent = axis < missing ? 1 : operand[axis - missing];
    axes[axis] = {dims[axis], extent == 1 ? 0 : stride};
    stride *= extent;
  }
  return merge(axes);
}

std::string broadcast_index(const std::string& index, Dims operand, Dims dims) {
  return offset_text(index, stretched_axes(operand, dims));
}

std::string offset_along(const std::string& index, Dims dims, std::span<const std::size_t> axes) {
  std::vector<Axis> along;
  for (const std::size_t axis : axes) {
    along.push_back({dims[axis], plugin::num_elements(dims.subspan(axis + 1))});
  }
  return offset_text(index, along);
}

std::string Parameters::add(int operand) {
  inputs_.push_back(operand);
  return "x" + std::to_string(operand);
}

std::string Parameters::add_output(int output) {
  outputs_.push_back(output);
  return "y" + std::to_string(output);
}

std::string Parameters::declarations() const {
  std::string text;
  for (const int operand : inputs_) {
    const sluice_operand& input = operand < op_->num_inputs
                                      ? op_->inputs[operand]
                                      : op_->body_inputs[operand - op_->num_inputs];
    const std::string_view type = type_name(input.tensor.element_type);
    // Numbers of 4 bits, which no type names, are bytes to the kernel.
    text.append("const ").append(type.empty() ? "unsigned char" : type);
    text.append("* x").append(std::to_string(operand)).append(", ");
  }
  text.append(type_name(op_->outputs[0].tensor.element_type)).append("* y");
  for (const int output : std::span(outputs_).subspan(1)) {
    text.append(", ").append(type_name(op_->outputs[output].tensor.element_type));
    text.append("* y").append(std::to_string(output));
  }
  return reports_indices_ ? text + ", unsigned long long* wrong, unsigned launch" : text;
}

std::vector<int> Parameters::operands() const {
  std::vector<int> all = inputs_;
  for (const int output : outputs_) all.push_back(-1 - output);
  return all;
}

namespace {

// Words as IndexReport has them. The thread that finds the first word 0 writes the others.
constexpr const char* kReport = R"(
static __device__ void report_index(long long index, long long axis, long long extent,
                                    unsigned long long* wrong, unsigned launch) {
  if (atomicCAS(wrong, 0ULL, (unsigned long long)launch) != 0) return;
  wrong[1] = index;
  wrong[2] = axis;
  wrong[3] = extent;
}
)";

/// `index`: what is reported.
std::string check_range(const std::string& index, std::int64_t end, std::int64_t extent,
                        std::size_t axis) {
  return "  if (at < 0 || at >= " + std::to_string(end) + ") {\n    report_index(" + index + ", " +
         std::to_string(axis) + ", " + std::to_string(extent) +
         ", wrong, launch);\n    return;\n  }\n";
}

}  // namespace

std::string check_index(std::int64_t extent, std::size_t axis) {
  const std::string size = std::to_string(extent);
  return "  if (at < 0) at += " + size + ";\n" +
         check_range("at < 0 ? at - " + size + " : at", extent, extent, axis);
}

std::string check_place(std::int64_t end, std::int64_t extent, std::size_t axis) {
  return check_range("at", end, extent, axis);
}

std::string kernel_head(const Parameters& parameters, std::int64_t num_elements,
                        const std::string& functions, const std::string& bounds) {
  const char* const index = num_elements < kMaxShortIndex ? "unsigned" : "unsigned long long";
  return std::string("typedef ") + index + " Index;\n" + types_text(parameters.op()) +
         (parameters.reports_indices() ? kReport : "") + functions +
         "\nextern \"C\" __global__ void " + bounds + kKernelName + "(" +
         parameters.declarations() + ") {\n";
}

std::string find_element(unsigned threads, std::int64_t num_elements) {
  return "  const Index i = Index(blockIdx.x) * " + std::to_string(threads) +
         " + threadIdx.x;\n  if (i >= " + std::to_string(num_elements) + ") return;\n";
}

bool set_grid(std::int64_t count, std::int64_t size, Source* source) {
  const std::int64_t blocks = count / size + (count % size != 0 ? 1 : 0);
  if (blocks > 0x7fffffff) return false;
  source->grid = {static_cast<unsigned>(blocks), 1, 1};
  return true;
}

Status too_large(const sluice_op& op) {
  return plugin::unimplemented(plugin::kind_of(op) + ": a launch has too few blocks for output " +
                               plugin::to_string(plugin::dims_of(op.outputs[0].tensor)));
}

}  // namespace sluice::cuda
