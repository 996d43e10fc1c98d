#include "plugin/index_reports.h"

#include <algorithm>

namespace sluice::cuda {
namespace {

constexpr std::size_t kBytes = IndexReport::kNumWords * sizeof(std::uint64_t);

}  // namespace

unsigned ReportNumbers::add(const sluice_op& op) {
  const std::lock_guard lock(mutex_);
  do ++last_;
  while (last_ == 0 || ops_.contains(last_));
  ops_.emplace(last_, &op);
  return last_;
}

void ReportNumbers::remove(unsigned number) {
  const std::lock_guard lock(mutex_);
  ops_.erase(number);
}

const sluice_op* ReportNumbers::find(unsigned number) const {
  const std::lock_guard lock(mutex_);
  const auto found = ops_.find(number);
  return found != ops_.end() ? found->second : nullptr;
}

Status IndexReports::prepare(const Driver& driver, CuStream stream) {
  if (seen_ != nullptr) return plugin::ok();
  const DriverTable& cu = driver.table;
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
  return plugin::ok();
}

Status IndexReports::add(const Driver& driver, CuStream stream, CuDevicePointer* words) {
  if (Status status = prepare(driver, stream); !status.is_ok()) return status;
  has_launched_ = true;
  is_copied_ = false;
  *words = words_;
  return plugin::ok();
}

Status IndexReports::copy_back(const Driver& driver, CuStream stream) {
  if (is_copied_) return plugin::ok();
  is_copied_ = true;
  return check_call(driver, driver.table.memcpy_dtoh_async(seen_, words_, kBytes, stream),
                    "copying the words of wrong indices");
}

Status IndexReports::take(const Driver& driver, CuStream stream, const ReportNumbers& numbers) {
  if (!std::exchange(has_launched_, false)) return plugin::ok();
  const std::uint64_t number = seen_[IndexReport::kLaunch];
  if (number == 0) return plugin::ok();
  const sluice_op* const op = numbers.find(static_cast<unsigned>(number));
  Status found =
      op == nullptr
          ? Status{SLUICE_INTERNAL, "the words of wrong indices are damaged"}
          : plugin::at_node(
                *op, plugin::index_outside(static_cast<std::int64_t>(seen_[IndexReport::kIndex]),
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
