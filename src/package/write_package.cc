#include <fstream>
#include <string>

#include "base/file.h"
#include "package/create_file.h"
#include "package/memory_file.h"
#include "package/package.h"
#include "package/package_bytes.h"
#include "package/writer.h"

namespace sluice::package {
namespace {

/// `File` is an AtomicFile or a MemoryFile.
template <typename File>
Status write(const Executable& executable, File& file) {
  Writer writer(file);
  SLUICE_TRY(writer.start());
  SLUICE_TRY(writer.write_graph(executable.graph));
  for (const PackedConstant& packed : executable.packed) {
    SLUICE_TRY(writer.add_packed(packed.data.view()));
  }
  return writer.finish(executable);
}

}  // namespace

Result<AtomicFile> create_file(const std::filesystem::path& path) {
  AtomicFile file = SLUICE_TRY(AtomicFile::create(path));  // refuses what is no regular file
  std::string start(kFileMagic.size(), '\0');
  std::ifstream old(path, std::ios::binary);
  old.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (old.gcount() > 0 && start != kFileMagic) {
    return make_error(
        Code::kInvalidArgument,
        "\"{}\" is there and is no package: it is not replaced. Name another file, or "
        "remove it",
        path.string());
  }
  return file;
}

Status write_package(const Executable& executable, const std::filesystem::path& path) {
  AtomicFile file = SLUICE_TRY(create_file(path));
  SLUICE_TRY(write(executable, file));
  return file.commit();
}

Result<Bytes> package_bytes(const Executable& executable) {
  MemoryFile file = SLUICE_TRY(MemoryFile::create());
  SLUICE_TRY(write(executable, file));
  return file.map();
}

}  // namespace sluice::package
