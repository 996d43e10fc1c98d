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

TEST(HostGuard, RefusesOtherHosts) {
  for (const char* host :
       {"example.org", "example.org:8000", "localhost.example.org", "127.0.0.1.example.org",
        "127.x", "xlocalhost", "[::2]", "[", "[]", ":8000", "0.0.0.0", "192.168.0.1",
        "localhost@example.org", " localhost", "[::1"}) {
    EXPECT_FALSE(is_own_host(host, {})) << host;
  }
}

TEST(HostGuard, TakesNamesThatTheOperatorListed) {
  EXPECT_TRUE(is_own_host("models.example.org:80", {"a", "Models.example.org"}));
  EXPECT_FALSE(is_own_host("example.org", {"models.example.org"}));
}

TEST(HostGuard, AnswersMisdirectedRequestsWithoutTheHandler) {
  int num_handled = 0;
  const http::Handler guarded =
      for_own_hosts({}, [&](const http::Request&, const http::Answer& answer) {
        ++num_handled;
        answer({});
        return http::Cancel();
      });
  http::Reply reply;
  const auto ask = [&](const char* host) {
    http::Request request;
    request.host = host;
    guarded(std::move(request), [&](http::Reply answer) { reply = std::move(answer); });
    return reply.status;
  };
  EXPECT_EQ(ask("localhost"), 200);
  EXPECT_EQ(ask("rebound.example"), 421);
  EXPECT_THAT(reply.text, HasSubstr("rebound.example"));
  EXPECT_EQ(num_handled, 1);
}

}  // namespace
}  // namespace sluice::daemon
