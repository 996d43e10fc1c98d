#include "rpc/server/calls/upload.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "package/header.h"
#include "package/package.h"
#include "terms/runtime_code.h"

namespace sluice::rpc::server {

Result<std::shared_ptr<const package::Executable>> UploadedPackages::parse(Bytes file) {
  const std::uint64_t checksum = package::checksum_of(file.view());
  std::shared_ptr<const Package> package;
  {
    const std::lock_guard lock(mutex_);
    package = find_locked(checksum, file);
  }
  if (package == nullptr) {
    // Without the lock. Of equal uploads at the same time each is parsed, which costs no more than
    // time.
    auto executable = SLUICE_TRY(package::parse_package(file));
    executable.code.clear();  // clients are not trusted to bring code: devices compile their own
    package = std::make_shared<const Package>(Package{std::move(file), std::move(executable)});
    const std::lock_guard lock(mutex_);
    std::erase_if(packages_, [](const auto& entry) { return entry.second.expired(); });
    packages_.emplace(checksum, package);
  }
  // The executable points into the file's bytes, so both live as one.
  const package::Executable* executable = &package->executable;
  return std::shared_ptr<const package::Executable>(std::move(package), executable);
}

/// Compares the bytes: a client can make two files with one checksum.
std::shared_ptr<const UploadedPackages::Package> UploadedPackages::find_locked(
    std::uint64_t checksum, const Bytes& file) {
  for (auto [at, end] = packages_.equal_range(checksum); at != end; ++at) {
    auto package = at->second.lock();
    if (package == nullptr || package->file.size() != file.size()) continue;
    if (std::memcmp(package->file.data(), file.data(), file.size()) == 0) return package;
  }
  return nullptr;
}

Result<std::unique_ptr<Upload>> Upload::create(std::int64_t size_bytes) {
  const int fd = memfd_create("sluice-upload", MFD_CLOEXEC);
  if (fd < 0) {
    return terms::runtime_error(RuntimeCode::kOutOfResources, "no memory for an upload: {}",
                                std::strerror(errno));
  }
  return std::unique_ptr<Upload>(new Upload(fd, size_bytes));
}

Upload::~Upload() { close(fd_); }

Status Upload::append(std::span<const char> bytes) {
  if (static_cast<std::int64_t>(bytes.size()) > size_bytes_ - received_bytes_) {
    return terms::runtime_error(RuntimeCode::kInvalid,
                                "the upload brings more than the {} bytes that it announced",
                                size_bytes_);
  }
  while (!bytes.empty()) {
    // Written, not mapped: where memory lacks, that is an error and no signal.
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      return terms::runtime_error(RuntimeCode::kOutOfResources,
                                  "no memory for an upload of {} bytes: {}", size_bytes_,
                                  std::strerror(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    received_bytes_ += written;
  }
  return ok_status();
}

Result<std::shared_ptr<const package::Executable>> Upload::finish(UploadedPackages& packages) {
  if (received_bytes_ != size_bytes_) {
    return terms::runtime_error(RuntimeCode::kInvalid, "the upload ended after {} of {} bytes",
                                received_bytes_, size_bytes_);
  }
  const auto size = static_cast<std::size_t>(size_bytes_);
  // Nobody else has the descriptor, so the bytes stay as they were checked.
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd_, 0);
  if (data == MAP_FAILED) {
    return terms::runtime_error(RuntimeCode::kOutOfResources, "mapping an upload of {} bytes: {}",
                                size_bytes_, std::strerror(errno));
  }
  const std::shared_ptr<const void> owner(data, [size](void* mapped) { munmap(mapped, size); });
  auto executable = packages.parse(Bytes(owner, {static_cast<const std::byte*>(data), size}));
  if (!executable.is_ok()) {
    const auto code = executable.status().code() == Code::kUnimplemented
                          ? RuntimeCode::kUnsupportedVersion
                          : RuntimeCode::kInvalid;
    return terms::with_runtime_code(executable.status(), code);
  }
  return executable;
}

}  // namespace sluice::rpc::server
