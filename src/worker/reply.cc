#include "worker/reply.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text/plural.h"

namespace sluice::worker {

using runtime::Reply;

namespace {

terms::ErrorList errors_of(const Bundle& bundle) {
  terms::ErrorList errors;
  for (const Bundle::Error& error : bundle.errors) {
    // The worker is another process that may be damaged: an unknown code, or an error that says OK,
    // counts as failed.
    const auto code = terms::describe(static_cast<RuntimeCode>(error.runtime_code)).code;
    errors.add(terms::runtime_error(code == RuntimeCode::kOk ? RuntimeCode::kFailed : code, "{}",
                                    error.message));
  }
  return errors;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

Reply reply_of(Answer answer, const terms::Signature& signature, const std::string& model_name,
               bool wants_detail, const terms::ReplyDetail& where) {
  Bundle& bundle = answer.bundle;
  Reply reply;
  reply.code = answer.code;
  reply.errors = errors_of(bundle);
  const bool has_outputs = bundle.tensors.size() == signature.outputs.size();
  if (reply.code == RuntimeCode::kOk && !has_outputs) {
    reply = runtime::failed_reply(terms::runtime_error(
        RuntimeCode::kCompletedWithError, "the worker's answer has {}, the model {}",
        counted(bundle.tensors.size(), "output"), signature.outputs.size()));
  } else if (reply.code != RuntimeCode::kOk && reply.errors.empty()) {
    // Every refusal has a message, even if the worker lost it.
    reply.errors.add(terms::runtime_error(reply.code, "model \"{}\"", model_name));
  }
  if (has_outputs) {
    for (terms::TensorView& view : bundle.tensors) {
      reply.outputs.push_back({std::move(view), answer.memory});
    }
  }
  if (wants_detail) {
    reply.detail = where;
    reply.detail.backends = split(bundle.text);
    reply.detail.queue_ns = bundle.numbers[0];
    reply.detail.copy_ns = bundle.numbers[1];
    reply.detail.compute_ns = bundle.numbers[2];
    reply.detail.is_joined = bundle.numbers[4] != 0;
    reply.detail.num_ahead = std::max<std::int64_t>(bundle.numbers[7], 0);
  }
  return reply;
}

runtime::RequestTimes ToldTimes::next(const ToldNumbers& numbers, std::int64_t total_ns) {
  left_ns_ += total_ns;
  const auto told = [&](std::size_t i) {
    // The clock of a worker may be virtual: its times are bounded by what is left of the model's
    // sum.
    return std::clamp<std::int64_t>(numbers[i], 0, left_ns_);
  };
  const std::int64_t copy_ns = told(1);
  const runtime::RequestTimes times = {
      told(0), copy_ns, told(2), total_ns, std::min(told(5), copy_ns), copy_ns > 0};
  // Each of the three sums stays below the measured total plus the first allowance.
  left_ns_ -= std::max({times.queue_ns, times.copy_ns, times.compute_ns});
  return times;
}

}  // namespace sluice::worker
