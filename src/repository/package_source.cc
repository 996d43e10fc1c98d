#include "repository/package_source.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/utf8.h"
#include "package/package.h"

namespace sluice::repository {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunkBytes = 1 << 20;
constexpr std::size_t kMaxReasonBytes = 1024;

/// Read, not mapped: a file that shrinks meanwhile is an error and no signal.
Result<ModelPackage> copy_package(const fs::path& file) {
  const FileDescriptor from(::open(file.c_str(), kReadFlags));
  if (from.get() < 0) return errno_error(errno, "cannot open", file);
  auto memory = SLUICE_TRY(package::MemoryFile::create());
  auto chunk = std::make_unique<std::array<std::byte, kChunkBytes>>();
  while (true) {
    const ssize_t size = ::read(from.get(), chunk->data(), chunk->size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno_error(errno, "cannot read", file);
    if (size == 0) break;
    SLUICE_TRY(memory.append({chunk->data(), static_cast<std::size_t>(size)}));
  }
  const Bytes bytes = SLUICE_TRY(memory.map());
  ModelPackage package;
  package.executable =
      std::make_shared<const package::Executable>(SLUICE_TRY(package::parse_package(bytes)));
  package.file = std::make_unique<const package::MemoryFile>(std::move(memory));
  return package;
}

/// The last lines that the compiler wrote.
std::string reason_of(const ChildEnd& end) {
  std::string text = end.errors;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.empty()) return describe_end(end.status);
  if (text.size() > kMaxReasonBytes) text.erase(0, text.size() - kMaxReasonBytes);
  return valid_utf8(text);
}

}  // namespace

Result<ModelPackage> PackageSource::open(const fs::path& file, const std::stop_token& stop) {
  std::error_code error;
  const bool is_compiled_first = file.extension() == ".onnx" || file.extension() == ".gguf";
  if (!is_compiled_first && !fs::is_directory(file, error)) return copy_package(file);
  ModelPackage package;
  package.path = SLUICE_TRY(compile(file, stop));
  return package;
}

Result<fs::path> PackageSource::compile(const fs::path& file, const std::stop_token& stop) {
  const std::lock_guard lock(compiling_);
  std::vector<std::string> words = {"sluice", "compile", "--cached", file.string()};
  if (file.extension() != ".onnx") words.insert(words.end(), {"--kv-cache", kv_cache_});
  const ChildEnd end = SLUICE_TRY(run_child(compiler_, words, limits_, stop));
  if (!end.is_success()) return invalid_argument("not compiled: {}", reason_of(end));
  std::string path = end.output;
  while (!path.empty() && path.back() == '\n') path.pop_back();
  return fs::path(path);
}

}  // namespace sluice::repository
