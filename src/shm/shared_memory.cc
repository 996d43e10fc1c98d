#include "shm/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sluice::shm {

Result<SharedMemory> SharedMemory::create(std::int64_t size_bytes) {
  if (size_bytes <= 0) return invalid_argument("shared memory of {} bytes cannot be", size_bytes);
  const auto failed = [&](const char* what) {
    return make_error(Code::kResourceExhausted, "shared memory of {} bytes: {}: {}", size_bytes,
                      what, std::strerror(errno));
  };
  Fd fd(memfd_create("sluice-shared", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.is_valid()) return failed("memfd_create");
  if (ftruncate(fd.get(), size_bytes) != 0) return failed("ftruncate");
  // A peer that could shrink the file would make reads of the mapping raise SIGBUS. F_SEAL_SEAL
  // keeps it from adding a seal against writing.
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return failed("sealing");
  }
  const auto size = static_cast<std::size_t>(size_bytes);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return failed("mmap");
  return SharedMemory(std::move(fd), {static_cast<std::byte*>(memory), size});
}

Result<SharedMemory> SharedMemory::open(const std::string& name) {
  const auto failed = [&](Code code, const char* what) {
    return make_error(code, "shared memory \"{}\": {}: {}", name, what, std::strerror(errno));
  };
  Fd fd(shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0));
  if (!fd.is_valid()) return failed(Code::kNotFound, "shm_open");
  struct stat info = {};
  if (fstat(fd.get(), &info) != 0 || info.st_size <= 0) {
    return invalid_argument("shared memory \"{}\" is empty; give it a size with ftruncate", name);
  }
  // Named memory has no seals: its owner may shrink it later, so the daemon copies from it by
  // system calls (docs/security.md).
  const auto size = static_cast<std::size_t>(info.st_size);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return failed(Code::kInvalidArgument, "mmap");
  return SharedMemory(std::move(fd), {static_cast<std::byte*>(memory), size});
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)), memory_(std::exchange(other.memory_, {})) {}

SharedMemory::~SharedMemory() {
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

}  // namespace sluice::shm
