#include "sluice/outputs.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <span>

#include "package/npy.h"

namespace sluice::tool {
namespace {

void summarize(const std::string& name, const exec::TensorView& view) {
  fmt::print("{}: {}", name, type_text(view));
  if (view.element == ir::ElementType::kF32 && view.size_bytes > 0) {
    const std::span values(static_cast<const float*>(view.data),
                           static_cast<std::size_t>(view.size_bytes) / 4);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    fmt::print(", min {:.4g}, max {:.4g}, mean {:.4g}, starts", *low, *high,
               sum / static_cast<double>(values.size()));
    for (const float value : values.first(std::min<std::size_t>(values.size(), 4))) {
      fmt::print(" {:.5g}", value);
    }
  }
  fmt::print("\n");
}

}  // namespace

std::string type_text(const exec::TensorView& view) {
  return ir::Type::tensor(view.element, ir::Shape(view.dims.begin(), view.dims.end())).to_string();
}

Status write_output(const std::string& name, const exec::TensorView& view,
                    const std::string& folder) {
  if (folder.empty()) {
    summarize(name, view);
    return ok_status();
  }
  const std::string path = SLUICE_TRY(save_output(name, view, folder));
  fmt::print("{}: {}\n", path, type_text(view));
  return ok_status();
}

Result<std::string> save_output(const std::string& name, const exec::TensorView& view,
                                const std::string& folder) {
  std::string file = name;
  std::replace(file.begin(), file.end(), '/', '_');
  const std::filesystem::path path = std::filesystem::path(folder) / (file + ".npy");
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(view.data),
                                         static_cast<std::size_t>(view.size_bytes));
  SLUICE_TRY(package::write_npy(path, exec::type_of(view), bytes));
  return path.string();
}

}  // namespace sluice::tool
