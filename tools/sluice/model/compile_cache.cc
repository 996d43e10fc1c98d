#include "sluice/model/compile_cache.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "package/package.h"

namespace sluice::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDefaultMib = 4096;

/// Nullptr if unset. The program reads its environment before it starts threads.
const char* environment(const char* name) {
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
}

fs::path cache_folder() {
  if (const char* named = environment("SLUICE_CACHE_DIR"); named != nullptr) return named;
  if (const char* base = environment("XDG_CACHE_HOME"); base != nullptr && *base != '\0') {
    return fs::path(base) / "sluice";
  }
  const char* home = environment("HOME");
  return home == nullptr || *home == '\0' ? fs::path() : fs::path(home) / ".cache/sluice";
}

std::uint64_t limit_mib() {
  const char* text = environment("SLUICE_CACHE_MIB");
  if (text == nullptr) return kDefaultMib;
  const std::string_view digits = text;
  std::uint64_t mib = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, mib);
  if (error == std::errc() && stop == end && mib <= (std::uint64_t{1} << 40U)) return mib;
  fmt::print(stderr, "warning: SLUICE_CACHE_MIB={}: not a number of MiB; the limit is {}\n", text,
             kDefaultMib);
  return kDefaultMib;
}

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

struct Entry {
  fs::path path;
  std::uint64_t size_bytes = 0;
  fs::file_time_type used;
};

std::vector<Entry> list_entries(const fs::path& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (auto file = fs::directory_iterator(folder, error);
       !error && file != fs::directory_iterator(); file.increment(error)) {
    std::error_code gone;  // another process may remove it meanwhile
    if (file->path().extension() != ".sluice") continue;
    const Entry entry = {file->path(), file->file_size(gone), file->last_write_time(gone)};
    if (!gone) entries.push_back(entry);
  }
  return entries;
}

}  // namespace

std::optional<CompileCache> CompileCache::open() {
  const fs::path folder = cache_folder();
  if (folder.empty()) return std::nullopt;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return std::nullopt;
  return CompileCache(folder, limit_mib() << 20U);
}

std::optional<package::Executable> CompileCache::find(const std::string& key) const {
  // A damaged file is removed: the compiler makes it again. The time of the last use orders `trim`.
  const fs::path place = place_of(key);
  auto executable = read_whole(place);
  std::error_code error;
  if (executable.is_ok()) {
    fs::last_write_time(place, fs::file_time_type::clock::now(), error);
    return std::move(executable).value();
  }
  if (executable.status().code() != Code::kNotFound) fs::remove(place, error);
  return std::nullopt;
}

void CompileCache::trim() const {
  // The least recently used go first. Other processes may remove the same files: errors are
  // ignored.
  std::vector<Entry> entries = list_entries(folder_);
  std::ranges::sort(entries, std::greater<>(), &Entry::used);
  std::uint64_t total_bytes = 0;
  for (const Entry& entry : entries) {
    total_bytes += entry.size_bytes;
    std::error_code error;
    // The newest stays, however large: somebody was just told its place.
    const bool is_newest = &entry == &entries.front();
    if (total_bytes > limit_bytes_ && !is_newest) fs::remove(entry.path, error);
  }
}

}  // namespace sluice::tool
