// A server for tests: an engine of four pretended cores, a service, a Unix socket, and the package
// of a small model (runtime/testing/engine_testing.h, add_relu).
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "package/package.h"
#include "rpc/server/server.h"
#include "runtime/testing/engine_testing.h"
#include "support/paths.h"

namespace sluice::rpc::testing {

/// Serves from its construction until a test's own destructor calls `stop`.
template <typename Drivers>
class ServingTest : public ::testing::Test {
 protected:
  /// Models lie in the test's folder. `drivers` are what Drivers is made of.
  template <typename... Arguments>
  explicit ServingTest(service::ServiceOptions options, Arguments&&... drivers)
      : drivers_(std::forward<Arguments>(drivers)...),
        engine_(runtime::testing::registry(), drivers_, {runtime::testing::pretended_cpu_map(4)}),
        service_(engine_, runtime::testing::pretended_cpu_map(4), in_folder(std::move(options)),
                 log_) {
    server::ServerOptions wanted;
    wanted.addresses = {{true, socket(), "", 0}};
    wanted.max_message_bytes = 1 << 20;
    auto server = server::Server::start(service_, repository_, wanted);
    EXPECT_TRUE(server.is_ok()) << server.status().to_string();
    server_ = std::move(server).value();
    EXPECT_TRUE(package::write_package(*runtime::testing::add_relu(), package_).is_ok());
  }

  void stop() {
    service_.shutdown(0);
    server_->shutdown(0);
  }

  std::string socket() const { return (folder_ / "s").string(); }
  std::string address() const { return "unix:" + socket(); }

  sluice::testing::TempDir folder_;
  Drivers drivers_;
  runtime::Engine engine_;
  service::NoLog log_;
  service::Service service_;
  repository::Repository repository_{service_, {}};
  std::unique_ptr<server::Server> server_;
  const std::string package_ = (folder_ / "m.sluice").string();

 private:
  service::ServiceOptions in_folder(service::ServiceOptions options) const {
    options.model_folders = {std::filesystem::canonical(folder_.path())};
    return options;
  }
};

}  // namespace sluice::rpc::testing
