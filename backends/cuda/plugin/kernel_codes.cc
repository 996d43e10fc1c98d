#include "plugin/kernel_codes.h"

#include <string>
#include <vector>

#include "driver/content_key.h"
#include "plugin/backend.h"
#include "plugin/generate/generate.h"

namespace sluice::cuda {
namespace {

Status compile_for(const Kernel& kernel, const Source& generated, const std::string& text,
                   std::span<const char* const> targets, sluice_code_receiver receive,
                   void* user_data) {
  std::vector<std::string> names = {kPortableTarget};
  if (depends_on_architecture(text)) names.emplace_back(kAsynchronousTarget);
  for (const std::string_view target : targets) {
    if (std::ranges::find(names, target) == names.end()) names.emplace_back(target);
  }
  std::vector<std::string> images(names.size());
  std::vector<sluice_code_image> views;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Status status = kernel.backend->store().compile(text, names[i], &images[i]);
    if (!status.is_ok()) return plugin::at_node(*kernel.op, std::move(status));
    views.push_back(
        {names[i].c_str(), images[i].data(), static_cast<std::int64_t>(images[i].size())});
  }
  const std::string key = key_of(generated.text);
  const std::vector<int>& arguments = generated.operands;
  sluice_kernel_code code = {};
  code.struct_size = sizeof(code);
  code.num_arguments = static_cast<std::int32_t>(arguments.size());
  code.num_images = static_cast<std::int32_t>(views.size());
  std::ranges::copy(generated.grid, code.grid);
  std::ranges::copy(generated.block, code.block);
  code.key = key.c_str();
  code.function = kKernelName;
  code.source = {text.data(), static_cast<std::int64_t>(text.size())};
  code.arguments = arguments.data();
  code.images = views.data();
  receive(user_data, &code);
  return plugin::ok();
}

sluice_code compile(sluice_kernel* kernel, const sluice_text* source, const char* const* targets,
                    std::int32_t num_targets, sluice_code_receiver receive, void* user_data,
                    sluice_message* message) {
  return plugin::guard(message, [&] {
    const auto& own = *reinterpret_cast<const Kernel*>(kernel);
    if (own.code == nullptr && own.library == nullptr) return plugin::ok();
    Source generated = own.source;
    // Packages are for machines with and without the library.
    if (own.library != nullptr) {
      if (Status status = generate(*own.op, &generated); !status.is_ok()) return status;
    }
    const std::string text =
        source == nullptr ? generated.text
                          : std::string(source->data, static_cast<std::size_t>(source->size_bytes));
    return compile_for(own, generated, text, {targets, static_cast<std::size_t>(num_targets)},
                       receive, user_data);
  });
}

sluice_code create(sluice_backend* backend, std::int32_t device, const sluice_op* op,
                   const sluice_kernel_code* code, sluice_kernel** kernel, sluice_kernel_info* info,
                   sluice_message* message) {
  return plugin::guard(message, [&] {
    std::unique_ptr<Kernel> made;
    Status status = reinterpret_cast<Backend*>(backend)->make_kernel(device, *op, code, &made);
    if (status.is_ok()) info->in_place_inputs = in_place_inputs(*op);
    *kernel = reinterpret_cast<sluice_kernel*>(made.release());
    return status;
  });
}

}  // namespace

const sluice_kernel_codes kKernelCodes = {sizeof(sluice_kernel_codes), 0, nullptr, compile, create};
const sluice_kernel_codes kEmulatedKernelCodes = {sizeof(sluice_kernel_codes), 0, "cuda", compile,
                                                  create};

}  // namespace sluice::cuda
