// Files of every format version that was ever released are kept, and must load and run.
#include <gtest/gtest.h>

#include <algorithm>

#include "exec/loaded_model.h"
#include "package/package.h"
#include "support/paths.h"

namespace sluice {
namespace {

/// An upright stroke, as the digits model sees a one.
std::vector<float> one() {
  std::vector<float> image(64, 0.0F);
  for (std::size_t row = 0; row < 8; ++row) {
    image[row * 8 + 3] = 0.6F;
    image[row * 8 + 4] = 1.0F;
  }
  return image;
}

TEST(OldPackages, Format1_0LoadsAndRecognizesAOne) {
  auto executable =
      package::read_package(testing::source_path("tests/golden/package/format_1_0.sluice"));
  ASSERT_TRUE(executable.is_ok()) << executable.status().to_string();
  const auto registry = backend::BackendRegistry::discover();
  const auto model = exec::LoadedModel::load(std::move(executable).value(), registry, {});
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  auto context = model->create_context();
  ASSERT_TRUE(context.is_ok()) << context.status().to_string();
  std::vector<float> image = one();
  ASSERT_TRUE(
      context->set_input(0, {image.data(), 256, ir::ElementType::kF32, {1, 1, 8, 8}}).is_ok());
  const Status status = context->run();
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  const auto* scores = static_cast<const float*>(context->output(0).data);
  EXPECT_EQ(std::max_element(scores, scores + 10) - scores, 1);
  EXPECT_GT(scores[1], 0.9F);
}

}  // namespace
}  // namespace sluice
