#include "base/file.h"
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

Status write_package(const Executable& executable, const std::filesystem::path& path) {
  AtomicFile file = SLUICE_TRY(AtomicFile::create(path));
  SLUICE_TRY(write(executable, file));
  return file.commit();
}

Result<Bytes> package_bytes(const Executable& executable) {
  MemoryFile file = SLUICE_TRY(MemoryFile::create());
  SLUICE_TRY(write(executable, file));
  return file.map();
}

}  // namespace sluice::package
