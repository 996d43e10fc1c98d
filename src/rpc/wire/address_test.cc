#include "rpc/wire/address.h"

#include <gtest/gtest.h>

namespace sluice::rpc::wire {
namespace {

TEST(Address, PrintedAddressParsesBack) {
  for (const char* text :
       {"unix:/run/sluice.sock", "localhost:5555", "10.0.0.1:0", "[::1]:65535"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address.is_ok()) << address.status().to_string();
    EXPECT_EQ(address->to_string(), text);
  }
  EXPECT_EQ(parse_address("/run/x.sock")->to_string(), "unix:/run/x.sock");
}

TEST(Address, MalformedAddressErrorListsValidForms) {
  const std::string long_path = "/" + std::string(200, 'x');
  const std::string with_zero("/run/a\0b", 8);
  for (const std::string& text :
       {std::string(), std::string("unix:"), std::string("unix:relative"), long_path, with_zero,
        std::string("host"), std::string(":80"), std::string("host:"), std::string("host:x"),
        std::string("host:65536"), std::string("host:-1"), std::string("::1:80"),
        std::string("a b:80"), std::string("http://host:80"), std::string("[]:80")}) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address.is_ok()) << text;
    EXPECT_NE(address.status().message().find("HOST:PORT"), std::string::npos);
  }
}

TEST(Address, OnlyNamesAndNumbersOfThisMachineAreLoopback) {
  for (const char* host : {"localhost", "::1", "127.0.0.1", "127.1.2.3"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"", "0.0.0.0", "::", "127.example.org", "127.", "localhost.example.org",
                           "10.0.0.1", "128.0.0.1"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

}  // namespace
}  // namespace sluice::rpc::wire
