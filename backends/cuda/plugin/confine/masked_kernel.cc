#include "plugin/confine/masked_kernel.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace sluice::cuda {
namespace {

/// The counters are reset by atomic operations because other blocks have used them so.
constexpr std::string_view kFrame = R"(
extern "C" __global__ void $bounds$kernel($parameters, unsigned num_blocks, unsigned* mask) {
  unsigned core;
  asm("mov.u32 %0, %%smid;" : "=r"(core));
  const bool is_inside = (mask[$bits + core / 32] >> core % 32 & 1) != 0;
  const bool is_first = threadIdx.x == 0 && threadIdx.y == 0;
  __shared__ unsigned number;
  for (bool is_last = false;; is_last = true) {
    while (is_inside || is_last) {
      __syncthreads();
      if (is_first) number = atomicAdd(mask + $next, 1u);
      __syncthreads();
      const unsigned block = number;
      if (block >= num_blocks) break;
      if (is_first && !is_inside) atomicAdd(mask + $strayed, 1u);
      run_block(block, $arguments);
    }
    if (is_last) break;
    __syncthreads();
    if (is_first) {
      __threadfence();
      number = atomicAdd(mask + $left, 1u);
    }
    __syncthreads();
    if (number + 1 != gridDim.x) return;
  }
  if (!is_first) return;
  atomicExch(mask + $next, 0u);
  atomicExch(mask + $left, 0u);
}
)";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// "const float* x0, F16* y" without the types: "x0, y".
std::string names_of(std::string_view parameters) {
  std::string names;
  while (!parameters.empty()) {
    const std::string_view one = parameters.substr(0, parameters.find(','));
    parameters.remove_prefix(std::min(one.size() + 1, parameters.size()));
    const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    std::size_t start = one.size();
    while (start > 0 && (is_part(one[start - 1]) || one[start - 1] == '_')) --start;
    if (!names.empty()) names += ", ";
    names += one.substr(start);
  }
  return names;
}

}  // namespace

std::vector<std::uint32_t> mask_words(std::int32_t num_cores, std::span<const std::int32_t> cores) {
  std::vector<std::uint32_t> words(MaskWords::kBits +
                                   static_cast<std::size_t>(num_cores + 31) / 32);
  for (const std::int32_t core : cores) {
    const auto number = static_cast<std::size_t>(core);
    words[MaskWords::kBits + number / 32] |= std::uint32_t{1} << number % 32;
  }
  return words;
}

Status mask_kernel(Source* source) {
  constexpr std::string_view kStart = "extern \"C\" __global__ void ";
  const std::string head = std::string(kKernelName) + "(";
  std::string& text = source->text;
  const std::size_t start = text.find(kStart);
  const std::size_t at = text.find(head, start);
  const std::size_t end = text.find(") {\n", at);
  if (start == std::string::npos || at == std::string::npos || end == std::string::npos) {
    return plugin::invalid_argument("the text has no kernel \"" + std::string(kKernelName) + "\"");
  }
  const std::string bounds = text.substr(start + kStart.size(), at - start - kStart.size());
  const std::string parameters = text.substr(at + head.size(), end - at - head.size());
  std::string body = text.substr(end);
  replace_all(body, "blockIdx.x", "block");
  std::string frame(kFrame);
  const std::string words[][2] = {{"$bounds", bounds},
                                  {"$kernel", kKernelName},
                                  {"$parameters", parameters},
                                  {"$arguments", names_of(parameters)},
                                  {"$next", std::to_string(MaskWords::kNext)},
                                  {"$left", std::to_string(MaskWords::kLeft)},
                                  {"$strayed", std::to_string(MaskWords::kStrayed)},
                                  {"$bits", std::to_string(MaskWords::kBits)}};
  for (const auto& [name, value] : words) replace_all(frame, name, value);
  text.resize(start);
  text += "static __device__ __forceinline__ void run_block(unsigned block, " + parameters + body +
          frame;
  source->is_masked = true;
  return plugin::ok();
}

}  // namespace sluice::cuda
