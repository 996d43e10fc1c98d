// A runtime in this process, and over a daemon by its ring or by gRPC alone.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon_process.h"
#include "sluice/runtime.hpp"
#include "support/paths.h"

namespace sluice::testing {

enum class Place { kLocal, kRing, kGrpc };

/// A package of f32[N,1,8,8] to f32[N,10].
inline std::string digits_package() {
  return source_path("tests/golden/package/format_1_0.sluice").string();
}

inline std::vector<InputTensor> image(std::int64_t n = 1) {
  static const std::vector<float> pixels(4096, 0.5F);
  const auto part = std::span(pixels).first(static_cast<std::size_t>(n) * 64);
  return {tensor<float>("image", part, {n, 1, 8, 8})};
}

class TwoPlaces : public ::testing::TestWithParam<Place> {
 protected:
  TwoPlaces() : runtime_(open()) {}

  Runtime open() {
    if (GetParam() != Place::kLocal) daemon_ = std::make_unique<DaemonProcess>(folder_);
    auto runtime =
        GetParam() == Place::kLocal
            ? Runtime::create()
            : Runtime::connect(daemon_->address(),
                               {.transport = GetParam() == Place::kRing ? SLUICE_TRANSPORT_DEFAULT
                                                                        : SLUICE_TRANSPORT_GRPC});
    EXPECT_TRUE(runtime) << runtime.error().message << (daemon_ ? daemon_->output() : "");
    return std::move(*runtime);
  }
  LoadedModel load(const LoadOptions& options = {.path = digits_package()}) {
    auto model = runtime_.load(options);
    EXPECT_TRUE(model) << model.error().message;
    return std::move(*model);
  }

  TempDir folder_;
  std::unique_ptr<DaemonProcess> daemon_;
  Runtime runtime_;
};

}  // namespace sluice::testing
