#include "repository/package_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/process/memory_limit.h"
#include "base/system/folder.h"
#include "base/utf8.h"
#include "package/header.h"
#include "package/package.h"

namespace sluice::repository {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunkBytes = 1 << 20;
constexpr std::size_t kMaxReasonBytes = 1024;

/// Looks before a copy takes memory: the bytes of a file that is a package and fits the machine.
/// Its name says nothing, and a file with holes has any size.
Result<std::int64_t> size_of_package(int from, const fs::path& file) {
  struct stat info = {};
  if (::fstat(from, &info) != 0) return errno_error(errno, "inspect", file);
  if (!S_ISREG(info.st_mode)) {
    return invalid_argument("\"{}\" is not a regular file", file.string());
  }
  if (info.st_size > usable_memory_bytes()) {
    return make_error(Code::kResourceExhausted,
                      "\"{}\" has {} bytes; {} bytes of memory are usable", file.string(),
                      info.st_size, usable_memory_bytes());
  }
  std::array<std::byte, sizeof(package::FileHeader)> start = {};
  const ssize_t num = ::pread(from, start.data(), start.size(), 0);
  if (num < 0) return errno_error(errno, "read", file);
  SLUICE_TRY(package::read_header(std::span(start).first(static_cast<std::size_t>(num)),
                                  static_cast<std::uint64_t>(info.st_size)));
  return info.st_size;
}

/// Read, not mapped: a file that shrinks meanwhile is an error and no signal.
Result<ModelPackage> copy_package(const fs::path& file, const std::stop_token& stop) {
  const FileDescriptor from = SLUICE_TRY(open_real(file));
  const std::int64_t size_bytes = SLUICE_TRY(size_of_package(from.get(), file));
  auto memory = SLUICE_TRY(package::MemoryFile::create());
  auto chunk = std::make_unique<std::array<std::byte, kChunkBytes>>();
  while (memory.size() < size_bytes) {
    if (stop.stop_requested()) return make_error(Code::kCancelled, "the daemon ends");
    const auto left = static_cast<std::size_t>(size_bytes - memory.size());
    const ssize_t size = ::read(from.get(), chunk->data(), std::min(left, chunk->size()));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno_error(errno, "read", file);
    if (size == 0) break;  // it has shrunk, which the parser finds
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
  if (!is_compiled_first && !fs::is_directory(file, error)) return copy_package(file, stop);
  ModelPackage package;
  package.path = SLUICE_TRY(compile(file, stop));
  return package;
}

Result<fs::path> PackageSource::compile(const fs::path& file, const std::stop_token& stop) {
  const std::lock_guard lock(compiling_);
  std::vector<std::string> words = {"sluice", "compile", "--cached", file.string()};
  if (file.extension() != ".onnx") {
    words.insert(words.end(), text_flags_.begin(), text_flags_.end());
  }
  const ChildEnd end = SLUICE_TRY(run_child(compiler_, words, limits_, stop));
  if (!end.is_success()) return invalid_argument("not compiled: {}", reason_of(end));
  std::string path = end.output;
  while (!path.empty() && path.back() == '\n') path.pop_back();
  return fs::path(path);
}

}  // namespace sluice::repository
