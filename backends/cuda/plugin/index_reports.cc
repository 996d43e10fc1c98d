#include "plugin/index_reports.h"

#include <algorithm>

namespace sluice::cuda {
namespace {

constexpr std::size_t kBytes = IndexReport::kNumWords * sizeof(std::uint64_t);

}  // namespace

Status IndexReports::add(const Driver& driver, CuStream stream, const sluice_op& op,
                         CuDevicePointer* words, unsigned* launch) {
  const DriverTable& cu = driver.table;
  if (seen_ == nullptr) {
    void* seen = nullptr;
    CuResult result = cu.mem_host_alloc(&seen, kBytes, 0);
    if (result != CuResult::kSuccess) return check_call(driver, result, "allocating on the host");
    result = cu.mem_alloc(&words_, kBytes);
    if (result == CuResult::kSuccess) result = cu.memset_d8_async(words_, 0, kBytes, stream);
    Status status = check_call(driver, result, "making the words of wrong indices");
    if (!status.is_ok()) {
      cu.mem_free_host(seen);
      if (words_ != 0) cu.mem_free(words_);
      words_ = 0;
      return status;
    }
    seen_ = static_cast<std::uint64_t*>(seen);
    std::fill_n(seen_, IndexReport::kNumWords, 0);
  }
  ops_.push_back(&op);
  is_copied_ = false;
  *words = words_;
  *launch = static_cast<unsigned>(ops_.size());
  return plugin::ok();
}

Status IndexReports::copy_back(const Driver& driver, CuStream stream) {
  if (is_copied_) return plugin::ok();
  is_copied_ = true;
  return check_call(driver, driver.table.memcpy_dtoh_async(seen_, words_, kBytes, stream),
                    "copying the words of wrong indices");
}

Status IndexReports::take(const Driver& driver, CuStream stream) {
  if (ops_.empty()) return plugin::ok();
  const std::vector<const sluice_op*> ops = std::exchange(ops_, {});
  const std::uint64_t launch = seen_[IndexReport::kLaunch];
  if (launch == 0) return plugin::ok();
  Status found = launch > ops.size()
                     ? Status{SLUICE_INTERNAL, "the words of wrong indices are damaged"}
                     : plugin::at_node(*ops[launch - 1],
                                       plugin::index_outside(
                                           static_cast<std::int64_t>(seen_[IndexReport::kIndex]),
                                           static_cast<std::int64_t>(seen_[IndexReport::kAxis]),
                                           static_cast<std::int64_t>(seen_[IndexReport::kExtent])));
  seen_[IndexReport::kLaunch] = 0;
  const CuResult result = driver.table.memset_d8_async(words_, 0, kBytes, stream);
  return result == CuResult::kSuccess ? found : check_call(driver, result, "clearing words");
}

void IndexReports::release(const Driver& driver) {
  if (seen_ == nullptr) return;
  driver.table.mem_free(words_);
  driver.table.mem_free_host(seen_);
  seen_ = nullptr;
}

}  // namespace sluice::cuda
