#include "backend/kernel.h"

#include <algorithm>

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

/// The C form of code, which it borrows.
class CodeView {
 public:
  explicit CodeView(const ir::KernelCode& code) {
    for (const ir::KernelCode::Image& image : code.images) {
      images_.push_back(
          {image.target.c_str(), image.data.data(), static_cast<std::int64_t>(image.data.size())});
    }
    code_.struct_size = sizeof(code_);
    code_.num_arguments = static_cast<std::int32_t>(code.arguments.size());
    code_.num_images = static_cast<std::int32_t>(images_.size());
    std::ranges::copy(code.grid, code_.grid);
    std::ranges::copy(code.block, code_.block);
    code_.key = code.key.c_str();
    code_.function = code.function.c_str();
    code_.source = {reinterpret_cast<const char*>(code.source.data()),
                    static_cast<std::int64_t>(code.source.size())};
    code_.arguments = code.arguments.data();
    code_.images = images_.data();
  }
  CodeView(const CodeView&) = delete;
  CodeView& operator=(const CodeView&) = delete;
  ~CodeView() = default;

  const sluice_kernel_code& get() const { return code_; }

 private:
  std::vector<sluice_code_image> images_;
  sluice_kernel_code code_ = {};
};

}  // namespace

Result<const sluice_kernel_codes*> kernel_codes_of(const Backend& backend) {
  const auto* table = SLUICE_TRY(backend.find_table<sluice_kernel_codes>(SLUICE_KERNEL_CODE));
  const bool is_whole =
      table != nullptr && table->compile != nullptr && table->kernel_create != nullptr;
  return is_whole ? table : nullptr;
}

Result<std::shared_ptr<const Kernel>> Kernel::create(std::shared_ptr<const Backend> backend,
                                                     int device, Op op,
                                                     const ir::KernelCode* code) {
  const sluice_op& c_op = op.get();
  if (!has_known_dims(c_op.inputs, c_op.num_inputs) ||
      !has_known_dims(c_op.outputs, c_op.num_outputs) ||
      !has_known_dims(c_op.body_inputs, c_op.num_body_inputs)) {
    return invalid_argument("{}: a kernel needs every dimension known", op.describe());
  }
  sluice_kernel* made = nullptr;
  sluice_kernel_info info = {};
  info.struct_size = sizeof(info);
  const sluice_kernel_codes* codes =
      code == nullptr ? nullptr : SLUICE_TRY(kernel_codes_of(*backend));
  const Status created = call_plugin(backend->name(), [&](sluice_message* message) {
    if (codes != nullptr) {
      return codes->kernel_create(backend->handle(), device, &c_op, &CodeView(*code).get(), &made,
                                  &info, message);
    }
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
