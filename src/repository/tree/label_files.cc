#include "repository/tree/label_files.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/system/folder.h"
#include "repository/config/labels.h"
#include "repository/tree/resolve.h"

namespace sluice::repository {
namespace {

namespace fs = std::filesystem;
using Labels = std::shared_ptr<const std::vector<std::string>>;

/// Takes the labels' memory from `left_bytes`.
Result<Labels> read_file(const fs::path& path, const fs::path& root, std::int64_t& left_bytes) {
  const fs::path real = SLUICE_TRY(resolve(path, root));
  const std::string text = SLUICE_TRY(read_real_text(real, kMaxLabelBytes));
  auto labels = std::make_shared<const std::vector<std::string>>(SLUICE_TRY(parse_labels(text)));
  // Long labels lie outside of their strings.
  left_bytes -= static_cast<std::int64_t>(labels->size() * sizeof(std::string) + text.size());
  if (left_bytes >= 0) return Labels(std::move(labels));
  return invalid_argument("the labels of all outputs take too much memory");
}

}  // namespace

std::string labels_fingerprint(const terms::DeclaredModel& model, const fs::path& folder,
                               const fs::path& root) {
  std::set<std::string_view> names;
  for (const terms::DeclaredTensor& output : model.outputs) {
    if (!output.label_filename.empty()) names.insert(output.label_filename);
  }
  std::string all;
  for (const std::string_view name : names) {
    const auto real = resolve(folder / name, root);
    all += fmt::format("labels:{}\n", real.is_ok() ? file_version(*real) : real.status().message());
  }
  return all;
}

Result<std::shared_ptr<const terms::DeclaredModel>> with_labels(const terms::DeclaredModel& model,
                                                                const fs::path& folder,
                                                                const fs::path& root,
                                                                const LabelLimits& limits) {
  auto declared = std::make_shared<terms::DeclaredModel>(model);
  std::int64_t left_bytes = limits.memory_bytes;
  std::map<std::string, Labels, std::less<>> files;
  for (terms::DeclaredTensor& output : declared->outputs) {
    if (output.label_filename.empty()) continue;
    Labels& labels = files[output.label_filename];
    if (labels == nullptr) {
      const std::string where = fmt::format("config.pbtxt, line {}: label_filename", output.line);
      labels = SLUICE_TRY(
          read_file(folder / output.label_filename, root, left_bytes).with_context(where));
    }
    output.labels = labels;
  }
  return std::shared_ptr<const terms::DeclaredModel>(std::move(declared));
}

}  // namespace sluice::repository
