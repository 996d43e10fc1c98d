#include "daemon/inherited_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ApplyInheritance, ManagedSocketsReplaceTheDefaultAddress) {
  const std::vector<InheritedAddress> sockets = {
      {"listen", "unix:/a", true}, {"listen", "127.0.0.1:5555", true}, {"http", "[::]:8000", true}};
  Settings settings;
  ASSERT_TRUE(apply_inheritance(sockets, false, settings).is_ok());
  EXPECT_THAT(settings.listen, ElementsAre("unix:/a", "127.0.0.1:5555"));
  EXPECT_EQ(settings.http, "[::]:8000");
  Settings named;
  named.listen = {"unix:/b", "unix:/a"};
  ASSERT_TRUE(apply_inheritance(sockets, true, named).is_ok());
  EXPECT_THAT(named.listen, ElementsAre("unix:/b", "unix:/a", "127.0.0.1:5555"));
}

TEST(ApplyInheritance, DoorsHaveOneAddress) {
  Settings settings;
  settings.http = "localhost:8000";
  const Status status = apply_inheritance({{"http", "127.0.0.1:9000", true}}, false, settings);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("leave the setting out"));
}

TEST(ApplyInheritance, PortsOfThePredecessorStay) {
  const std::vector<InheritedAddress> sockets = {{"listen", "unix:/run/s", false},
                                                 {"listen", "[::1]:4001", false},
                                                 {"listen", "127.0.0.1:4001", false},
                                                 {"listen", "127.0.0.1:4002", false},
                                                 {"http", "127.0.0.1:4003", false}};
  Settings settings;
  settings.listen = {"localhost:0", "unix:/run/s", "127.0.0.1:0"};
  settings.http = "localhost:0";
  settings.metrics = "localhost:0";
  ASSERT_TRUE(apply_inheritance(sockets, true, settings).is_ok());
  EXPECT_THAT(settings.listen, ElementsAre("localhost:4001", "unix:/run/s", "127.0.0.1:4002"));
  EXPECT_EQ(settings.http, "localhost:4003");
  EXPECT_EQ(settings.metrics, "localhost:0") << "the predecessor had none";
}

}  // namespace
}  // namespace sluice::daemon
