#include "base/system/huge_pages.h"

#include <linux/mman.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <utility>

namespace sluice {
namespace {

constexpr const char* kFolder = "/sys/kernel/mm/hugepages/hugepages-2048kB/";

std::int64_t read_count(const char* name) {
  std::int64_t count = 0;
  std::ifstream(std::string(kFolder) + name) >> count;
  return count;
}

/// Pages that are neither in use nor reserved.
std::int64_t count_free() {
  // Reserved pages belong to mappings that have not touched them yet.
  return std::max<std::int64_t>(0, read_count("free_hugepages") - read_count("resv_hugepages"));
}

Status shortage(std::int64_t asked, std::int64_t found) {
  return make_error(Code::kResourceExhausted,
                    "huge pages: {} of 2 MiB are asked for, {} are free; make room with: sysctl -w "
                    "vm.nr_hugepages={}",
                    asked, found, read_count("nr_hugepages") + asked - std::min(found, asked));
}

struct ForProcess {
  std::mutex mutex;
  std::shared_ptr<HugePages> pages;
};

ForProcess& for_process() {
  static ForProcess one;
  return one;
}

std::size_t pages_of(std::int64_t size_bytes) {
  return static_cast<std::size_t>((size_bytes + HugePages::kPageBytes - 1) / HugePages::kPageBytes);
}

}  // namespace

Result<std::shared_ptr<HugePages>> HugePages::reserve(std::int64_t num_pages) {
  const std::int64_t found = count_free();
  if (num_pages > found) return shortage(num_pages, found);
  const auto size = static_cast<std::size_t>(num_pages * kPageBytes);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
  if (memory == MAP_FAILED) return shortage(num_pages, count_free());
  // A control group may allow fewer than there are. Kernels before 5.14 do not know the call.
  if (madvise(memory, size, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
    munmap(memory, size);
    return shortage(num_pages, count_free());
  }
  return std::shared_ptr<HugePages>(
      new HugePages({static_cast<std::byte*>(memory), size}, /*is_mapped=*/true));
}

std::shared_ptr<HugePages> HugePages::over(std::span<std::byte> memory) {
  return std::shared_ptr<HugePages>(new HugePages(memory, /*is_mapped=*/false));
}

HugePages::HugePages(std::span<std::byte> memory, bool is_mapped)
    : memory_(memory), is_mapped_(is_mapped), is_taken_(memory.size() / kPageBytes) {}

HugePages::~HugePages() {
  if (is_mapped_) munmap(memory_.data(), memory_.size());
}

void HugePages::set_for_process(std::shared_ptr<HugePages> pages) {
  const std::lock_guard lock(for_process().mutex);
  for_process().pages = std::move(pages);
}

std::shared_ptr<HugePages> HugePages::of_process() {
  const std::lock_guard lock(for_process().mutex);
  return for_process().pages;
}

void* HugePages::take(std::int64_t size_bytes) {
  const std::size_t wanted = pages_of(size_bytes);
  const std::lock_guard lock(mutex_);
  const auto row = std::search_n(is_taken_.begin(), is_taken_.end(), wanted, false);
  if (wanted == 0 || row == is_taken_.end()) return nullptr;
  std::fill_n(row, wanted, true);
  return memory_.data() + (row - is_taken_.begin()) * kPageBytes;
}

void HugePages::give_back(void* data, std::int64_t size_bytes) {
  const auto offset = static_cast<std::byte*>(data) - memory_.data();
  const std::lock_guard lock(mutex_);
  std::fill_n(is_taken_.begin() + offset / kPageBytes, pages_of(size_bytes), false);
}

std::int64_t HugePages::num_taken() const {
  const std::lock_guard lock(mutex_);
  return std::count(is_taken_.begin(), is_taken_.end(), true);
}

}  // namespace sluice
