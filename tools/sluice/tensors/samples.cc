#include "sluice/tensors/samples.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "sluice/tensors/inputs.h"

namespace sluice::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtensions[] = {".npy", ".png"};

Result<std::vector<fs::path>> list(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    paths.push_back(it->path());
  }
  if (error) {
    return make_error(Code::kNotFound, "cannot list \"{}\": {}", folder, error.message());
  }
  std::ranges::sort(paths);
  return paths;
}

Result<Sample> read_sample(const fs::path& folder, const terms::Signature& signature) {
  Sample sample;
  for (const terms::TensorSpec& spec : signature.inputs) {
    for (const std::string_view extension : kExtensions) {
      const fs::path path = folder / (spec.name + std::string(extension));
      if (fs::exists(path)) sample[spec.name] = path.string();
    }
    if (!sample.contains(spec.name) && spec.has_default) sample[spec.name] = kDefaultSource;
    if (!sample.contains(spec.name)) {
      return invalid_argument("sample \"{}\" has no {}.npy or {}.png", folder.string(), spec.name,
                              spec.name);
    }
  }
  return sample;
}

}  // namespace

/// Files of the only input, or else a folder per sample. Sorted, because file systems list files in
/// any order.
Result<std::vector<Sample>> find_samples(const std::string& folder,
                                         const terms::Signature& signature) {
  const std::vector<fs::path> paths = SLUICE_TRY(list(folder));
  std::vector<Sample> samples;
  for (const fs::path& path : paths) {
    const bool is_tensor =
        std::ranges::find(kExtensions, path.extension().string()) != std::end(kExtensions);
    if (signature.inputs.size() == 1 && is_tensor) {
      samples.push_back({{signature.inputs.front().name, path.string()}});
    }
  }
  if (!samples.empty()) return samples;
  for (const fs::path& path : paths) {
    if (fs::is_directory(path)) samples.push_back(SLUICE_TRY(read_sample(path, signature)));
  }
  if (samples.empty()) {
    return make_error(
        Code::kNotFound,
        "\"{}\" holds no samples; put .npy or .png files there, or a folder per sample "
        "with a file per input",
        folder);
  }
  return samples;
}

}  // namespace sluice::tool
