#include "http/account_threads.h"

#include <algorithm>
#include <utility>

namespace sluice::http {
namespace {

constexpr std::size_t kMostFullLines = 16;

}  // namespace

AccountThreads::AccountThreads(std::size_t max_threads, std::size_t max_waiting_per_account,
                               service::Log& log)
    : max_waiting_per_account_(max_waiting_per_account),
      threads_(max_threads, kMostFullLines * max_waiting_per_account, log) {}

Status AccountThreads::run(std::string_view account, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  const auto line =
      std::ranges::find_if(lines_, [&](const Line& one) { return one.account == account; });
  if (line != lines_.end() && line->waiting.size() >= max_waiting_per_account_) {
    return make_error(Code::kUnavailable,
                      "{} requests of this client wait for a thread; try again later",
                      line->waiting.size());
  }
  // A thread that comes at once waits for mutex_. One that finds no work, because the lines below
  // threw, does nothing.
  SLUICE_TRY(threads_.run([this] { run_next(); }));
  if (line != lines_.end()) {
    line->waiting.push_back(std::move(work));
    return ok_status();
  }
  std::list<Line> added;
  added.push_back({std::string(account), {}});
  added.front().waiting.push_back(std::move(work));
  lines_.splice(lines_.end(), added);
  return ok_status();
}

void AccountThreads::run_next() {
  std::function<void()> work;
  {
    const std::lock_guard lock(mutex_);
    if (lines_.empty()) return;
    Line& line = lines_.front();
    work = std::move(line.waiting.front());
    line.waiting.pop_front();
    if (line.waiting.empty()) {
      lines_.pop_front();
    } else {
      lines_.splice(lines_.end(), lines_, lines_.begin());
    }
  }
  work();
}

}  // namespace sluice::http
