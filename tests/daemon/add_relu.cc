#include "daemon/add_relu.h"

#include <gtest/gtest.h>

#include <utility>

#include "package/package.h"
#include "runtime/testing/engine_testing.h"

namespace sluice::testing {

std::string write_model(const TempDir& folder, const std::string& name,
                        std::vector<std::int32_t> cores, std::string_view backend) {
  const std::string path = (folder / (name + ".sluice")).string();
  const auto executable = runtime::testing::add_relu_in(std::move(cores), backend);
  const Status status = package::write_package(*executable, path);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return path;
}

Result<std::vector<float>> infer(rpc::client::Client& client, std::uint64_t model, float value) {
  std::vector<float> x(4, value);
  const terms::TensorView view = {x.data(), 16, ir::ElementType::kF32, {4}};
  const auto reply = SLUICE_TRY(client.infer(model, {{"x", view}}));
  const auto* data = static_cast<const float*>(reply.outputs.at(0).view.data);
  return std::vector<float>(data, data + 4);
}

}  // namespace sluice::testing
