#include "backend/extensions/kernel_code.h"

#include <algorithm>

#include "backend/handshake.h"

namespace sluice::backend {
namespace {

constexpr std::size_t kLongestWord = 256;
constexpr std::int32_t kMaxImages = 64;
constexpr std::int32_t kMaxArguments = 4096;

struct Received {
  const sluice_op& op;
  std::optional<ir::KernelCode> code;
  bool is_broken = false;
};

Bytes copy(const void* data, std::int64_t size_bytes) {
  const auto* first = static_cast<const std::byte*>(data);
  return MutableBytes::copy_of({first, static_cast<std::size_t>(size_bytes)}).freeze();
}

/// Nullopt for code that contradicts itself, or names operands that the operation lacks.
std::optional<ir::KernelCode> copy(const sluice_kernel_code& code, const sluice_op& op) {
  const auto key = bounded_text(code.key, kLongestWord);
  const auto function = bounded_text(code.function, kLongestWord);
  const bool has_counts = code.num_arguments >= 0 && code.num_arguments <= kMaxArguments &&
                          code.num_images > 0 && code.num_images <= kMaxImages;
  if (!key || !function || !has_counts || code.source.size_bytes < 0) return std::nullopt;
  ir::KernelCode copied;
  copied.key = *key;
  copied.function = *function;
  copied.source = copy(code.source.data, code.source.size_bytes);
  std::ranges::copy(code.grid, copied.grid.begin());
  std::ranges::copy(code.block, copied.block.begin());
  copied.arguments.assign(code.arguments, code.arguments + code.num_arguments);
  for (const std::int32_t argument : copied.arguments) {
    if (argument < -op.num_outputs || argument >= op.num_inputs + op.num_body_inputs)
      return std::nullopt;
  }
  for (std::int32_t i = 0; i < code.num_images; ++i) {
    const sluice_code_image& image = code.images[i];
    const auto target = bounded_text(image.target, kLongestWord);
    if (!target || image.size_bytes < 0) return std::nullopt;
    copied.images.push_back({*target, copy(image.data, image.size_bytes)});
  }
  return copied;
}

// No exception may pass the plug-in that calls it.
void receive(void* user, const sluice_kernel_code* code) noexcept {
  auto& received = *static_cast<Received*>(user);
  const bool is_whole = code != nullptr && code->struct_size >= sizeof(sluice_kernel_code);
  if (is_whole && !received.code) received.code = copy(*code, received.op);
  received.is_broken = !received.code;
}

}  // namespace

Result<std::optional<ir::KernelCode>> compile_code(const Kernel& kernel,
                                                   const std::optional<std::string>& source,
                                                   std::span<const std::string> targets) {
  const Backend& backend = kernel.backend();
  const sluice_kernel_codes* table = SLUICE_TRY(kernel_codes_of(backend));
  if (table == nullptr) return std::optional<ir::KernelCode>();
  std::vector<const char*> names;
  for (const std::string& target : targets) names.push_back(target.c_str());
  const std::string text = source.value_or("");
  const sluice_text own = {text.data(), static_cast<std::int64_t>(text.size())};
  Received received = {kernel.op().get(), std::nullopt, false};
  SLUICE_TRY(call_plugin(backend.name(), table->compile, kernel.get(), source ? &own : nullptr,
                         names.data(), static_cast<std::int32_t>(names.size()), receive, &received)
                 .with_context(kernel.op().describe()));
  if (received.is_broken) {
    return internal_error("backend \"{}\" compiles {} to code without a name or an image",
                          backend.name(), kernel.op().describe());
  }
  return std::move(received.code);
}

}  // namespace sluice::backend
