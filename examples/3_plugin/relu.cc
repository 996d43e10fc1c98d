// The backend "example": it knows one operator, Relu on floats, and leaves the rest to others.
#include <algorithm>

#include "sluice/host_backend.hpp"

namespace {

using sluice::plugin::Call;
using sluice::plugin::HostBackend;
using sluice::plugin::KernelEntry;
using sluice::plugin::Status;

/// Asked at compile time, when dimensions may still be unknown (-1), and again before the kernel is
/// made, when none is. What is refused here another backend runs.
Status check_relu(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (x.element_type != sluice::plugin::kF32) {
    return sluice::plugin::unimplemented("Relu: floats only");
  }
  if (!std::ranges::equal(sluice::plugin::dims_of(x), sluice::plugin::dims_of(y))) {
    return sluice::plugin::invalid_argument("Relu: input and output differ in shape");
  }
  return sluice::plugin::ok();
}

Status run_relu(const Call& call) {
  const auto x = call.input_elements<float>(0);
  const auto y = call.output_elements<float>(0);
  std::ranges::transform(x, y.begin(), [](float value) { return value > 0 ? value : 0; });
  return sluice::plugin::ok();
}

const KernelEntry kKernels[] = {{.kind = "Relu", .run = run_relu, .check = check_relu}};

class ExampleBackend : public HostBackend {
 public:
  ExampleBackend() : HostBackend(kKernels) {}
  std::string device_name() const override { return "example of a plug-in"; }
};

}  // namespace

SLUICE_HOST_BACKEND(ExampleBackend, "example", "1.0")
