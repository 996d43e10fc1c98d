#include "daemon/http/host_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::daemon {
namespace {

using ::testing::HasSubstr;

TEST(HostGuard, TakesNamesAndAddressesOfLoopback) {
  for (const char* host : {"", "localhost", "localhost:8000", "LocalHost:1", "localhost.",
                           "127.0.0.1", "127.9.8.7:8000", "[::1]", "[::1]:8000"}) {
    EXPECT_TRUE(is_own_host(host, {})) << host;
  }
}

TEST(HostGuard, TakesAddressesWhichNoNameServerCanMove) {
  for (const char* host :
       {"10.1.2.3:8000", "192.168.0.1", "0.0.0.0", "[::2]", "[2001:db8::7]:80"}) {
    EXPECT_TRUE(is_own_host(host, {})) << host;
    EXPECT_FALSE(is_own_origin(std::string("http://") + host, "localhost:8000", {})) << host;
    EXPECT_TRUE(is_own_origin(std::string("http://") + host, host, {})) << host;
  }
}

TEST(HostGuard, RefusesOtherHosts) {
  for (const char* host :
       {"example.org", "example.org:8000", "localhost.example.org", "127.0.0.1.example.org",
        "127.x", "xlocalhost", "[", "[]", ":8000", "10.1.2", "10.1.2.3.4", "10.1.2.3x",
        "0x0a010203", "167838211", "localhost@example.org", " localhost", "[::1"}) {
    EXPECT_FALSE(is_own_host(host, {})) << host;
  }
}

TEST(HostGuard, TakesNamesThatTheOperatorListed) {
  EXPECT_TRUE(is_own_host("models.example.org:80", {"a", "Models.example.org"}));
  EXPECT_FALSE(is_own_host("example.org", {"models.example.org"}));
  EXPECT_TRUE(is_own_host("10.1.2.3:8000", {"a", "*"}));
}

TEST(HostGuard, TakesPagesOfItsOwnNamesAndProgramsWithoutOrigin) {
  for (const char* origin :
       {"", "http://localhost:8000", "http://localhost", "https://LOCALHOST", "http://127.0.0.1:80",
        "http://[::1]:8000", "https://models.example.org"}) {
    EXPECT_TRUE(is_own_origin(origin, "localhost:8000", {"models.example.org"})) << origin;
  }
}

TEST(HostGuard, RefusesPagesOfOtherSites) {
  for (const char* origin :
       {"null", "http://evil.example", "http://evil.example:8000", "http://localhost.evil.example",
        "http://", "localhost", "http://localhost@evil.example", "file://", "https://192.168.0.1",
        "chrome-extension://localhost", "http://evil.example/localhost", "http:localhost", " "}) {
    EXPECT_FALSE(is_own_origin(origin, "localhost:8000", {"models.example.org"})) << origin;
    EXPECT_FALSE(is_own_origin(origin, "localhost:8000", {"*"})) << origin;
  }
}

TEST(HostGuard, AnyNameMayReachItButOnlyFromItsOwnPage) {
  EXPECT_TRUE(is_own_origin("http://10.1.2.3:8000", "10.1.2.3:8000", {"*"}));
  EXPECT_FALSE(is_own_origin("http://10.1.2.3:9000", "10.1.2.3:8000", {"*"}));
  EXPECT_FALSE(is_own_origin("http://10.1.2.3", "", {"*"}));
}

TEST(HostGuard, AnswersForeignRequestsWithoutTheHandler) {
  int num_handled = 0;
  const http::Handler guarded =
      for_own_pages({}, [&](const http::Request&, const http::Answer& answer) {
        ++num_handled;
        answer({});
        return http::Cancel();
      });
  http::Reply reply;
  const auto ask = [&](const char* host, const char* origin) {
    http::Request request;
    request.host = host;
    request.origin = origin;
    guarded(std::move(request), [&](http::Reply answer) { reply = std::move(answer); });
    return reply.status;
  };
  EXPECT_EQ(ask("localhost", ""), 200);
  EXPECT_EQ(ask("localhost:8000", "http://localhost:8000"), 200);
  EXPECT_EQ(ask("rebound.example", "http://rebound.example"), 421);
  EXPECT_THAT(reply.text, HasSubstr("rebound.example"));
  EXPECT_EQ(ask("localhost:8000", "http://evil.example"), 403);
  EXPECT_THAT(reply.text, HasSubstr("evil.example"));
  EXPECT_EQ(num_handled, 2);
}

}  // namespace
}  // namespace sluice::daemon
