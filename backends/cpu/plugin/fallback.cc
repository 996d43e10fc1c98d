#include "plugin/fallback.h"

#include <utility>
#include <vector>

#include "reference/kernels.h"
#include "sluice/host_backend.hpp"

namespace sluice::cpu {
namespace {

class Fallback : public Kernel {
 public:
  Fallback(const sluice_op& op, std::unique_ptr<plugin::HostKernel> kernel)
      : Kernel(op), kernel_(std::move(kernel)) {}

  void run(const Run& run, int, const Worker&) const override {
    run.fail(plugin::catch_all([&] {
      std::vector<sluice_tensor> inputs;
      std::vector<sluice_tensor> outputs;
      collect(plugin::inputs_of(op()), run.inputs(), inputs);
      collect(plugin::body_inputs_of(op()), run.inputs().subspan(inputs.size()), inputs);
      collect(plugin::outputs_of(op()), run.outputs(), outputs);
      return kernel_->run(plugin::Call(op(), inputs, outputs, run.actual_dims(), run.texts()));
    }));
  }

  /// Reference kernels compare their results' shapes with the outputs in each run.
  void extents(Extents& /*extents*/) const override {}
  double cost_ns() const override { return 0; }
  bool is_serial() const override { return true; }
  bool is_generic() const override { return true; }
  std::uint32_t in_place_inputs() const override { return kernel_->in_place_inputs(); }

 private:
  static void collect(std::span<const sluice_operand> operands, std::span<void* const> addresses,
                      std::vector<sluice_tensor>& tensors) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      tensors.push_back(operands[i].tensor);
      tensors.back().data = addresses[i];
    }
  }

  std::unique_ptr<plugin::HostKernel> kernel_;
};

}  // namespace

Status check_fallback(const sluice_op& op) { return reference::check_op(op); }

Status make_fallback(const sluice_op& op, std::unique_ptr<Kernel>* kernel) {
  std::unique_ptr<plugin::HostKernel> made;
  if (Status status = reference::make_kernel(op, &made); !status.is_ok()) return status;
  *kernel = std::make_unique<Fallback>(op, std::move(made));
  return plugin::ok();
}

}  // namespace sluice::cpu
