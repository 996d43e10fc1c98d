#include "backend/kernel.h"

namespace sluice::backend {
namespace {

bool has_known_dims(const sluice_operand* operands, std::int32_t count) {
  for (std::int32_t i = 0; i < count; ++i) {
    const sluice_tensor& tensor = operands[i].tensor;
    for (std::int32_t d = 0; d < tensor.rank; ++d) {
      if (tensor.dims[d] < 0) return false;
    }
  }
  return true;
}

}  // namespace

Result<std::shared_ptr<const Kernel>> Kernel::create(std::shared_ptr<const Backend> backend,
                                                     int device, Op op) {
  const sluice_op& c_op = op.get();
  if (!has_known_dims(c_op.inputs, c_op.num_inputs) ||
      !has_known_dims(c_op.outputs, c_op.num_outputs) ||
      !has_known_dims(c_op.body_inputs, c_op.num_body_inputs)) {
    return invalid_argument("{}: a kernel needs every dimension known", op.describe());
  }
  sluice_kernel* made = nullptr;
  sluice_kernel_info info = {};
  info.struct_size = sizeof(info);
  const Status created = call_plugin(backend->name(), [&](sluice_message* message) {
    return backend->api().kernel_create(backend->handle(), device, &c_op, &made, &info, message);
  });
  if (!created.is_ok()) {
    // Some plug-ins name the operation themselves; once is enough in a message.
    const bool is_named = created.message().find(op.describe()) != std::string::npos;
    return is_named ? created : created.with_context(op.describe());
  }
  if (made == nullptr) {
    return internal_error("backend \"{}\" returned no kernel for {}", backend->name(),
                          op.describe());
  }
  // Read before `backend` is moved into the handle.
  const auto destroy = backend->api().kernel_destroy;
  Handle<sluice_kernel, Backend> handle(std::move(backend), made, destroy);
  return std::shared_ptr<const Kernel>(
      new Kernel(std::move(op), info.in_place_inputs, std::move(handle)));
}

}  // namespace sluice::backend
