// A model's file, and the folders whose files it may name.
#pragma once

#include <filesystem>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/system/folder.h"

namespace sluice::onnx {

struct ModelFile {
  Bytes bytes;  ///< mapped
  /// The folder of the path, then that of the file that its links lead to; one, if they are one.
  std::vector<Folder> folders;
};

/// Opens the file and its folders together: whoever exchanges a link or a folder meanwhile does not
/// get the file of one place read with the data of another.
/// Fails: as map_file.
Result<ModelFile> open_model_file(const std::filesystem::path& path);

/// The folder alone; none if `path` is empty or there is no such folder.
std::vector<Folder> folders_at(const std::filesystem::path& path);

}  // namespace sluice::onnx
