#include "sluice/model/compile_cache.h"

#include <utility>

#include "package/package.h"

namespace sluice::tool {
namespace {

namespace fs = std::filesystem;

/// Compares the checksums of all constants, packed ones included.
Status verify_all(const package::Executable& executable) {
  for (std::size_t s = 0; s < executable.graph.num_subgraphs(); ++s) {
    const ir::Subgraph& subgraph = executable.graph.subgraph(ir::SubgraphId(s));
    for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
      const ir::Constant* constant = subgraph.find_constant(ir::OperandId(i));
      if (constant != nullptr) SLUICE_TRY(executable.verify(constant->data, "constant"));
    }
  }
  for (const package::PackedConstant& packed : executable.packed) {
    SLUICE_TRY(executable.verify(packed.data, packed.format));
  }
  return ok_status();
}

Result<package::Executable> read_whole(const fs::path& path) {
  auto executable = SLUICE_TRY(package::read_package(path));
  SLUICE_TRY(verify_all(executable));
  return executable;
}

}  // namespace

std::optional<CompileCache> CompileCache::open() {
  std::string warning;
  auto folder = CacheFolder::open(&warning);
  if (!warning.empty()) fmt::print(stderr, "warning: {}\n", warning);
  if (!folder) return std::nullopt;
  return CompileCache(*std::move(folder));
}

std::optional<package::Executable> CompileCache::find(const std::string& key) const {
  // A damaged file is removed: the compiler makes it again.
  const fs::path place = place_of(key);
  auto executable = read_whole(place);
  if (executable.is_ok()) {
    CacheFolder::mark_used(place);
    return std::move(executable).value();
  }
  std::error_code error;
  if (executable.status().code() != Code::kNotFound) fs::remove(place, error);
  return std::nullopt;
}

}  // namespace sluice::tool
