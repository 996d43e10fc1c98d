// A model that takes any number of images: the shape of the input decides, at every run.
//
//   dynamic_batch digits.sluice
#include <algorithm>
#include <cstdio>
#include <vector>

#include "sluice/sluice.hpp"

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
  std::fprintf(stderr, "dynamic_batch: %s\n", error.message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  auto model = sluice::Model::open(argc > 1 ? argv[1] : "digits.sluice");
  if (!model) return fail(model.error());
  auto context = model->create_context();
  if (!context) return fail(context.error());
  for (const std::int64_t batch : {1, 3, 8, 1}) {
    std::vector<float> images;
    for (std::int64_t i = 0; i < batch; ++i)
      images.insert(images.end(), kSeven.begin(), kSeven.end());
    if (auto error = context->set_input("image", images, {batch, 1, 8, 8})) return fail(*error);
    if (auto error = context->run()) return fail(*error);
    const auto output = context->output<float>("probabilities");  // its shape: [batch, 10]
    if (!output) return fail(output.error());
    const std::int64_t classes = output->dims[1];
    for (std::int64_t i = 0; i < output->dims[0]; ++i) {
      const auto row = output->values.subspan(static_cast<std::size_t>(i * classes),
                                              static_cast<std::size_t>(classes));
      const auto best = std::max_element(row.begin(), row.end());
      std::printf("it is a %td (%.1f %%), image %lld of %lld\n", best - row.begin(), *best * 100,
                  static_cast<long long>(i + 1), static_cast<long long>(batch));
    }
  }
}
