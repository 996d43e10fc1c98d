#include "service/packages/upload.h"

#include <cstring>
#include <utility>

#include "base/process/with_lock.h"
#include "package/header.h"
#include "package/package.h"
#include "terms/runtime_code.h"

namespace sluice::service {

Result<std::shared_ptr<const package::Executable>> UploadedPackages::parse(Bytes file,
                                                                           ByteCharge charge) {
  const std::uint64_t checksum = package::checksum_of(file.view());
  auto package = with_lock(mutex_, [&] { return find_locked(checksum, file); });
  if (package == nullptr) {
    // Without the lock. Equal uploads at the same time are each parsed, which costs only time.
    auto executable = SLUICE_TRY(package::parse_package(file));
    executable.code.clear();  // clients are not trusted to bring code: devices compile their own
    package = std::make_shared<const Package>(
        Package{std::move(charge), std::move(file), std::move(executable)});
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

Result<std::unique_ptr<Upload>> Upload::create(std::int64_t size_bytes,
                                               const std::shared_ptr<ByteBudget>& payer) {
  auto charge = SLUICE_TRY(ByteCharge::take(payer, 0));
  auto file = package::MemoryFile::create();
  if (!file.is_ok()) {
    return terms::with_runtime_code(file.status(), RuntimeCode::kOutOfResources);
  }
  return std::unique_ptr<Upload>(new Upload(std::move(*file), size_bytes, std::move(charge)));
}

Status Upload::append(std::span<const char> bytes) {
  if (static_cast<std::int64_t>(bytes.size()) > size_bytes_ - file_.size()) {
    return terms::runtime_error(RuntimeCode::kInvalid,
                                "the upload brings more than the {} bytes that it announced",
                                size_bytes_);
  }
  const auto more = static_cast<std::int64_t>(bytes.size());
  SLUICE_TRY(terms::with_runtime_code(
      charge_.resize(charge_.bytes() + more).with_context("uploaded packages"),
      RuntimeCode::kOutOfResources));
  return terms::with_runtime_code(file_.append(std::as_bytes(bytes)), RuntimeCode::kOutOfResources);
}

Result<std::shared_ptr<const package::Executable>> Upload::finish(UploadedPackages& packages) {
  if (file_.size() != size_bytes_) {
    return terms::runtime_error(RuntimeCode::kInvalid, "the upload ended after {} of {} bytes",
                                file_.size(), size_bytes_);
  }
  // Nobody else has the descriptor, so the bytes stay as they were checked.
  auto bytes = file_.map();
  if (!bytes.is_ok()) {
    return terms::with_runtime_code(bytes.status(), RuntimeCode::kOutOfResources);
  }
  auto executable = packages.parse(std::move(*bytes), std::move(charge_));
  if (!executable.is_ok()) {
    const auto code = executable.status().code() == Code::kUnimplemented
                          ? RuntimeCode::kUnsupportedVersion
                          : RuntimeCode::kInvalid;
    return terms::with_runtime_code(executable.status(), code);
  }
  return executable;
}

}  // namespace sluice::service
