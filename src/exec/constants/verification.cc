#include "exec/constants/verification.h"

#include <algorithm>
#include <functional>
#include <system_error>
#include <utility>

#include "base/process/cpu_quota.h"
#include "base/system/processor.h"
#include "exec/constants/stop.h"

namespace sluice::exec {
namespace {

/// Each thread should have at least this much to check: a core hashes 4 MiB in well under a
/// millisecond, so for less the start of a thread costs more than it saves.
constexpr std::size_t kBytesPerThread = 4 << 20;
/// Shape functions read tensors of a few elements, so larger data cannot change a plan and may be
/// checked late.
constexpr std::size_t kLargeBytes = 64 << 10;

bool is_large(const Bytes& data) { return data.size() >= kLargeBytes; }

}  // namespace

void Verification::Reading::start(const Verification& verification, std::vector<Bytes> data) {
  verification_ = &verification;
  std::size_t bytes = 0;
  for (Bytes& each : data) {
    if (!is_whole_.emplace(each.data(), false).second) continue;
    bytes += each.size();
    data_.push_back(std::move(each));
  }
  std::ranges::stable_sort(data_, std::greater(), &Bytes::size);
  const std::size_t worth =
      std::clamp<std::size_t>(bytes / kBytesPerThread, 1, verification.max_threads_);
  try {
    for (std::size_t i = 1; i < worth; ++i) {
      helpers_.push_back(start_elsewhere([this] { work(); }));
    }
  } catch (const std::system_error&) {
    // Out of threads: the caller and the helpers started so far do the work.
  }
}

void Verification::Reading::work() {
  for (std::size_t i = next_++; i < data_.size(); i = next_++) {
    if (verification_->stop_.stop_requested()) return;
    is_whole_.at(data_[i].data()) = verification_->executable_.verify(data_[i], "").is_ok();
  }
}

void Verification::Reading::finish() {
  work();
  helpers_.clear();
}

Verification::Verification(const package::Executable& executable, int num_threads,
                           std::stop_token stop)
    : executable_(executable),
      max_threads_(static_cast<std::size_t>(num_threads > 0
                                                ? num_threads
                                                : cores_within_quota(static_cast<std::int32_t>(
                                                      std::thread::hardware_concurrency())))),
      stop_(std::move(stop)) {}

void Verification::read_ahead(std::vector<Bytes> data) {
  std::erase_if(data, [](const Bytes& each) { return !is_large(each); });
  ahead_.start(*this, std::move(data));
}

void Verification::add(Bytes data, std::string what) {
  items_.push_back({std::move(data), std::move(what)});
}

Status Verification::start() {
  std::vector<Bytes> rest;
  for (const Item& item : items_) {
    if (!is_large(item.data)) {
      SLUICE_TRY(executable_.verify(item.data, item.what));
    } else if (!ahead_.has(item.data.data())) {
      rest.push_back(item.data);
    }
  }
  rest_.start(*this, std::move(rest));
  return ok_status();
}

Status Verification::finish() {
  ahead_.finish();
  rest_.finish();
  SLUICE_TRY(check_not_stopped(stop_));
  for (const Item& item : items_) {
    if (!is_large(item.data)) continue;
    const Reading& reading = ahead_.has(item.data.data()) ? ahead_ : rest_;
    // Checks damaged data again, to get the error message with its name.
    if (!reading.is_whole(item.data.data())) SLUICE_TRY(executable_.verify(item.data, item.what));
  }
  return ok_status();
}

}  // namespace sluice::exec
