// A model that takes any number of images: the shape of the input decides, at every run.
//
//   04_batch digits.sluice
#include <vector>

#include "seven.h"
#include "sluice/sluice.hpp"

static int fail(const sluice::Error& error) {
  std::fprintf(stderr, "04_batch: %s\n", error.message.c_str());
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
      images.insert(images.end(), std::begin(kSeven), std::end(kSeven));
    if (auto error = context->set_input("image", images, {batch, 1, 8, 8})) return fail(*error);
    if (auto error = context->run()) return fail(*error);
    const auto output = context->output<float>("probabilities");  // its shape: [batch, 10]
    if (!output) return fail(output.error());
    std::printf("%lld images:\n", static_cast<long long>(output->dims[0]));
    for (std::int64_t i = 0; i < batch; ++i)
      print_digit(&output->values[static_cast<std::size_t>(10 * i)]);
  }
}
