#include "http_client/http_client.h"

#include <gtest/gtest.h>

#include "support/no_threads.h"

namespace sluice::http_client {
namespace {

TEST(HttpClient, TellsThatItGetsNoThreads) {
  rpc::wire::Address server;
  server.is_unix = true;
  server.path = "/none";
  const testing::NoThreads no_threads;
  EXPECT_EQ(HttpClient::create(server, 1).status().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace sluice::http_client
