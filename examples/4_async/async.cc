// Submits many requests at once: some wait for their replies, one gets a callback, one is
// cancelled.
//
//   sluice compile examples/digits/digits.onnx -o digits.sluice
//   async digits.sluice
#include <algorithm>
#include <cstdio>
#include <future>
#include <vector>

#include "sluice/runtime.hpp"

// An 8 x 8 picture of a seven.
static const std::vector<float> kSeven = {0, 0, .5, 1,  1,  1,  .4, 0,  //
                                          0, 0, .7, .6, .5, 1,  .4, 0,  //
                                          0, 0, 0,  0,  .3, 1,  .1, 0,  //
                                          0, 0, .2, .5, .9, 1,  .6, 0,  //
                                          0, 0, .8, 1,  1,  .7, .4, 0,  //
                                          0, 0, 0,  .5, .9, 0,  0,  0,  //
                                          0, 0, 0,  1,  .5, 0,  0,  0,  //
                                          0, 0, .6, 1,  .1, 0,  0,  0};

static int fail(const sluice::Error& error) {
  std::fprintf(stderr, "async: %s\n", error.message.c_str());
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

  // The callback runs on a thread of the runtime: it hands the result on and returns.
  std::promise<bool> told;
  auto error = model->submit(
      inputs, [&told](sluice::Expected<sluice::Reply> reply) { told.set_value(bool(reply)); });
  if (error) return fail(*error);

  (void)requests.back().cancel();  // a request that has finished keeps its result
  requests.pop_back();

  for (sluice::Request& request : requests) {
    auto reply = request.wait();
    if (!reply) return fail(reply.error());
    const auto output = reply->output<float>("probabilities");
    if (!output) return fail(output.error());
    const auto best = std::max_element(output->values.begin(), output->values.end());
    std::printf("it is a %td (%.1f %%)\n", best - output->values.begin(), *best * 100);
  }
  std::printf("the callback got %s\n", told.get_future().get() ? "a reply" : "an error");
}
