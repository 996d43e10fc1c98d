#include "engine/cost.h"

#include <algorithm>
#include <cmath>

namespace sluice::sim {
namespace {

double count_of(const sluice_tensor& tensor) {
  if (plugin::is_absent(tensor)) return 0;
  return static_cast<double>(std::max<std::int64_t>(plugin::num_elements(tensor), 0));
}

double bytes_of(const sluice_tensor& tensor) {
  return static_cast<double>(std::max<std::int64_t>(tensor.size_bytes, 0));
}

double dim_of(const sluice_tensor& tensor, int from_end) {
  const int at = tensor.rank - from_end;
  return at >= 0 ? static_cast<double>(std::max<std::int64_t>(tensor.dims[at], 0)) : 1;
}

/// How many products are added up for one element of output 0; 0 for other kinds of operators.
double products_per_element(const sluice_op& op) {
  const std::string_view kind = op.kind;
  if (op.num_inputs < 2) return 0;
  const sluice_tensor& a = op.inputs[0].tensor;
  const sluice_tensor& b = op.inputs[1].tensor;
  if (kind.find("Conv") != std::string_view::npos) {  // weights: [M, C/group, kernel...]
    return b.rank > 0 && b.dims[0] > 0 ? count_of(b) / static_cast<double>(b.dims[0]) : 0;
  }
  if (kind.find("MatMul") != std::string_view::npos) return dim_of(a, 1);
  if (kind == "Gemm") {
    return dim_of(a, plugin::Attributes(op).get_int("transA") != 0 ? 2 : 1);
  }
  return 0;
}

std::int64_t as_ns(double seconds) {
  return static_cast<std::int64_t>(std::llround(std::min(seconds * 1e9, 9e17)));
}

}  // namespace

Work work_of(const sluice_op& op) {
  Work work = {.kind = plugin::kind_of(op)};
  double largest = 0;
  for (const auto& operands :
       {plugin::inputs_of(op), plugin::body_inputs_of(op), plugin::outputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      largest = std::max(largest, count_of(operand.tensor));
      work.bytes += bytes_of(operand.tensor);
    }
  }
  const double result = op.num_outputs > 0 ? count_of(op.outputs[0].tensor) : 0;
  work.elements = result;
  const double products = products_per_element(op);
  // Others do about one operation for each element of their largest operand.
  work.flops = products > 0 ? 2 * products * result : largest;
  if (op.body != nullptr) work.flops += static_cast<double>(op.body->num_steps) * result;
  return work;
}

std::int64_t kernel_ns(const Compute& compute, const Work& work, int num_cores) {
  const auto listed = compute.operator_ns.find(work.kind);
  if (listed != compute.operator_ns.end()) return listed->second;
  if (compute.kernel_ns) return *compute.kernel_ns;
  // Whichever limits: arithmetic or memory, as in the roofline model.
  const double seconds =
      std::max(work.flops / compute.flops_per_s, work.bytes / compute.bytes_per_s);
  return compute.launch_ns + as_ns(seconds / num_cores);
}

std::int64_t copy_ns(const CopyPath& path, std::int64_t size_bytes) {
  return path.latency_ns + as_ns(static_cast<double>(size_bytes) / path.bytes_per_s);
}

}  // namespace sluice::sim
