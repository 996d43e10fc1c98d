#include "onnx/tensors/model_file.h"

#include <utility>

#include "base/file.h"

namespace sluice::onnx {

std::vector<Folder> folders_at(const std::filesystem::path& path) {
  if (path.empty()) return {};
  auto folder = Folder::open(path);
  if (!folder.is_ok()) return {};
  return {std::move(folder).value()};
}

Result<ModelFile> open_model_file(const std::filesystem::path& path) {
  const std::filesystem::path named = path.has_parent_path() ? path.parent_path() : ".";
  ModelFile file;
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) {  // missing; or without a name, as a descriptor in /proc can be
    file.bytes = SLUICE_TRY(map_file(path));
    file.folders = folders_at(named);
    return file;
  }
  const Folder own = SLUICE_TRY(Folder::open(real.parent_path()));
  file.bytes = SLUICE_TRY(own.map(real.filename()));
  const bool is_linked = std::filesystem::canonical(named, error) != real.parent_path();
  for (Folder& folder : is_linked ? folders_at(named) : std::vector<Folder>()) {
    if (folder.has_same(path.filename(), own, real.filename())) {
      file.folders.push_back(std::move(folder));
    }
  }
  file.folders.push_back(own);
  return file;
}

}  // namespace sluice::onnx
