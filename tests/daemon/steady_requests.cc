#include "daemon/steady_requests.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "daemon/add_relu.h"

namespace sluice::testing {

SteadyRequests::SteadyRequests(std::unique_ptr<rpc::client::Client> client, std::uint64_t model)
    : client_(std::move(client)),
      last_answer_ns_(system_clock().now_ns()),
      thread_([this, model] { run(model); }) {}

void SteadyRequests::wait_for_more(std::int64_t count) const {
  const std::int64_t from = num_answered_;
  while (num_answered_ < from + count && !has_failed_) std::this_thread::yield();
}

std::int64_t SteadyRequests::take_longest_pause_ns() {
  const std::int64_t since_last_ns = system_clock().now_ns() - last_answer_ns_;
  return std::max(longest_pause_ns_.exchange(0), since_last_ns);
}

Status SteadyRequests::stop() {
  end();
  return first_error_;
}

void SteadyRequests::end() {
  is_over_ = true;
  if (thread_.joinable()) thread_.join();
}

void SteadyRequests::run(std::uint64_t model) {
  first_error_ = run_until_over(model);
  has_failed_ = !first_error_.is_ok();
}

Status SteadyRequests::run_until_over(std::uint64_t model) {
  while (!is_over_) {
    const std::vector<float> y = SLUICE_TRY(infer(*client_, model, 1));
    if (y != std::vector<float>{2, 0, 4, 0}) {
      return make_error(Code::kInternal, "request {} has a wrong answer", num_answered_ + 1);
    }
    const std::int64_t now_ns = system_clock().now_ns();
    const std::int64_t pause_ns = now_ns - last_answer_ns_.exchange(now_ns);
    longest_pause_ns_ = std::max(longest_pause_ns_.load(), pause_ns);
    ++num_answered_;
  }
  return ok_status();
}

}  // namespace sluice::testing
