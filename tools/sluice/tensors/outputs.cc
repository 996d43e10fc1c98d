#include "sluice/tensors/outputs.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <span>
#include <vector>

#include "base/file.h"
#include "ir/attribute.h"
#include "package/npy.h"
#include "sluice/tensors/json_value.h"

namespace sluice::tool {
namespace {

/// How far the elements go, and the first four.
template <typename T, typename Print>
void print_numbers(const std::vector<T>& values, const Print& limit, const Print& element) {
  if (values.empty()) return;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  fmt::print(", min {}, max {}, mean {:.4g}, starts", limit(*low), limit(*high),
             sum / static_cast<double>(values.size()));
  for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 4); ++i) {
    fmt::print(" {}", element(values[i]));
  }
}

std::string four_digits(double number) { return fmt::format("{:.4g}", number); }
std::string five_digits(double number) { return fmt::format("{:.5g}", number); }
std::string all_digits(std::int64_t number) { return fmt::format("{}", number); }

/// Elements that are no numbers, such as strings, show their type alone.
void summarize(const std::string& name, const terms::TensorView& view) {
  fmt::print("{}: {}", name, type_text(view));
  const ir::Constant value = copy_of(view);
  if (const auto floats = ir::float_values(value)) {
    print_numbers(*floats, four_digits, five_digits);
  } else if (const auto wholes = ir::integer_values(value)) {
    print_numbers(*wholes, all_digits, all_digits);
  }
  fmt::print("\n");
}

}  // namespace

Status make_output_folder(const std::string& folder) {
  if (folder.empty()) return ok_status();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // An existing folder passes the call above, whether it can be written or not.
  if (!error && ::access(folder.c_str(), W_OK) != 0) error.assign(errno, std::generic_category());
  if (!error) return ok_status();
  return invalid_argument("--output-dir {}: {}", folder, error.message());
}

std::string type_text(const terms::TensorView& view) {
  return ir::Type::tensor(view.element, ir::Shape(view.dims.begin(), view.dims.end())).to_string();
}

Status write_output(const std::string& name, const terms::TensorView& view,
                    const std::string& folder) {
  if (folder.empty()) {
    summarize(name, view);
    return ok_status();
  }
  const std::string path = SLUICE_TRY(save_output(name, view, folder));
  fmt::print("{}: {}\n", path, type_text(view));
  return ok_status();
}

Result<std::string> save_output(const std::string& name, const terms::TensorView& view,
                                const std::string& folder) {
  // A name may have slashes, which are no folders here.
  std::string file = name;
  std::replace(file.begin(), file.end(), '/', '_');
  const bool is_npy = package::has_npy_type(view.element);
  const std::filesystem::path path =
      std::filesystem::path(folder) / (file + (is_npy ? ".npy" : ".json"));
  if (!is_npy) {
    const std::string text = SLUICE_TRY(print_json_value({copy_of(view), {}})) + "\n";
    SLUICE_TRY(write_file_atomically(path, std::as_bytes(std::span(text))));
    return path.string();
  }
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(view.data),
                                         static_cast<std::size_t>(view.size_bytes));
  SLUICE_TRY(package::write_npy(path, terms::type_of(view), bytes));
  return path.string();
}

}  // namespace sluice::tool
