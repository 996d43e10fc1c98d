#include "daemon/steady_requests.h"

#include <gtest/gtest.h>

#include <utility>

#include "daemon/add_relu.h"
#include "support/eventually.h"

namespace sluice::testing {

SteadyRequests::SteadyRequests(std::unique_ptr<rpc::client::Client> client, std::uint64_t model)
    : client_(std::move(client)), thread_([this, model] { run(model); }) {}

void SteadyRequests::wait_for_more(std::int64_t count) const {
  const std::int64_t from = num_answered_;
  EXPECT_TRUE(eventually([&] { return num_answered_ >= from + count || has_failed_; }));
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
    ++num_answered_;
  }
  return ok_status();
}

}  // namespace sluice::testing
