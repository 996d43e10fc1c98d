// Submits many requests at once: some wait for their replies, one gets a callback, one is
// cancelled.
//
//   06_requests digits.sluice
#include <future>
#include <vector>

#include "seven.h"
#include "sluice/runtime.hpp"

static int fail(const sluice::Error& error) {
  std::fprintf(stderr, "06_requests: %s\n", error.message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  auto runtime = sluice::Runtime::create();
  if (!runtime) return fail(runtime.error());
  auto model = runtime->load({.path = argc > 1 ? argv[1] : "digits.sluice", .depth = 4});
  if (!model) return fail(model.error());
  const std::vector<sluice::InputTensor> inputs = {
      sluice::tensor<float>("image", kSeven, {1, 1, 8, 8})};

  // The memory of inputs is borrowed until the replies.
  std::vector<sluice::Request> requests;
  for (int i = 0; i < 8; ++i) {
    auto request = model->submit(inputs, {.priority = i, .timeout = std::chrono::seconds(10)});
    if (!request) return fail(request.error());
    requests.push_back(std::move(*request));
  }

  // The callback runs on a thread of the runtime, so it returns at once.
  std::promise<bool> has_replied;
  auto error = model->submit(
      inputs, [&](sluice::Expected<sluice::Reply> reply) { has_replied.set_value(bool(reply)); });
  if (error) return fail(*error);

  (void)requests.back().cancel();  // a request that has finished keeps its result
  requests.pop_back();

  for (sluice::Request& request : requests) {
    auto reply = request.wait();
    if (!reply) return fail(reply.error());
    const auto output = reply->output<float>("probabilities");
    if (!output) return fail(output.error());
    print_digit(output->values.data());
  }
  std::printf("the callback got %s\n", has_replied.get_future().get() ? "a reply" : "an error");
}
