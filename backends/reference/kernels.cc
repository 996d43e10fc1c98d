#include "reference/kernels.h"

#include "reference/body.h"

namespace sluice::reference {
namespace {

bool is_body_only(const sluice_op& op) {
  return std::string_view(op.domain) == "sluice" && std::string_view(op.kind) == "Elementwise";
}

class ElementwiseKernel : public plugin::HostKernel {
 public:
  explicit ElementwiseKernel(BodyProgram body) : body_(std::move(body)) {}
  Status run(const Call& call) const override {
    return body_.run(call.body_inputs(), call.output(0));
  }

 private:
  BodyProgram body_;
};

/// An operator, then a body on its first output.
class FusedKernel : public plugin::HostKernel {
 public:
  FusedKernel(const KernelEntry& entry, BodyProgram body) : entry_(entry), body_(std::move(body)) {}

  Status run(const Call& call) const override {
    // The operator writes the output first, and the body then reads and overwrites it.
    if (Status status = entry_.run(call); !status.is_ok()) return status;
    std::vector<sluice_tensor> inputs = {call.output(0)};
    for (const sluice_tensor& input : call.body_inputs()) inputs.push_back(input);
    return body_.run(inputs, call.output(0));
  }

 private:
  const KernelEntry& entry_;
  BodyProgram body_;
};

}  // namespace

namespace {

/// A kernel that writes elements of another size than the output has would leave it.
Status check_output_types(const KernelEntry& entry, const sluice_op& op) {
  OutputTypes wanted = entry.output_types;
  if (entry.is_elementwise()) wanted[0] = entry.result_type(op);
  for (int i = 0; i < op.num_outputs && i < std::ssize(wanted); ++i) {
    sluice_element_type type = wanted[static_cast<std::size_t>(i)];
    if (type == kTypeOfInput0) type = op.inputs[0].tensor.element_type;
    const sluice_tensor& output = op.outputs[i].tensor;
    if (type == plugin::kAbsent || plugin::is_absent(output) || output.element_type == type) {
      continue;
    }
    return refuse(op, "output " + std::to_string(i) + " is of element type " +
                          std::to_string(output.element_type) + "; the result is of " +
                          std::to_string(type));
  }
  return plugin::ok();
}

}  // namespace

Status refuse(const sluice_op& op, const std::string& text) {
  return plugin::invalid_argument(plugin::describe(op) + ": " + text);
}

Status check_entry(const KernelEntry& entry, const sluice_op& op) {
  for (int i = 0; i < entry.num_required_inputs; ++i) {
    if (i < op.num_inputs && !plugin::is_absent(op.inputs[i].tensor)) continue;
    return refuse(op, "input " + std::to_string(i) + " is missing");
  }
  if (op.num_outputs < 1 || (op.num_outputs == 1 && plugin::is_absent(op.outputs[0].tensor))) {
    return refuse(op, "has no output");
  }
  if (Status status = check_output_types(entry, op); !status.is_ok()) return status;
  return entry.check != nullptr ? entry.check(op) : plugin::ok();
}

Status check_op(const sluice_op& op) {
  // A pure body has no kernel of its own, so the table is not asked.
  if (Status status = plugin::check_row_major(op); !status.is_ok()) return status;
  if (is_body_only(op)) {
    if (op.body != nullptr && op.num_outputs == 1) return check_body(op);
    return plugin::invalid_argument(plugin::kind_of(op) + " takes a body and has one output");
  }
  const KernelEntry* entry = find_kernel(op.domain, op.kind);
  if (entry == nullptr) return plugin::unimplemented("no kernel for " + plugin::kind_of(op));
  if (Status status = check_entry(*entry, op); !status.is_ok()) return status;
  return op.body != nullptr ? check_body(op) : plugin::ok();
}

Status make_kernel(const sluice_op& op, std::unique_ptr<plugin::HostKernel>* kernel) {
  if (op.body == nullptr) {
    *kernel = std::make_unique<plugin::FunctionKernel>(find_kernel(op.domain, op.kind)->run);
    return plugin::ok();
  }
  BodyProgram body;
  if (Status status = BodyProgram::make(op, &body); !status.is_ok()) return status;
  if (is_body_only(op)) {
    *kernel = std::make_unique<ElementwiseKernel>(std::move(body));
  } else {
    *kernel = std::make_unique<FusedKernel>(*find_kernel(op.domain, op.kind), std::move(body));
  }
  return plugin::ok();
}

}  // namespace sluice::reference
