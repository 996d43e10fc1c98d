#include "page/asset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sluice::page {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Asset, EveryFileHasATypeAndItsOwnTag) {
  std::set<std::string_view> tags;
  for (const Asset& asset : assets()) {
    EXPECT_NE(type_of(asset.name), http::kBinary) << asset.name;
    EXPECT_FALSE(asset.bytes.empty()) << asset.name;
    tags.insert(asset.etag);
  }
  EXPECT_EQ(tags.size(), assets().size());
  EXPECT_EQ(type_of("x.bin"), http::kBinary);
}

TEST(Asset, AllTogetherAreLight) {
  std::size_t size_bytes = 0;
  for (const Asset& asset : assets()) size_bytes += asset.bytes.size();
  EXPECT_LT(size_bytes, std::size_t{300} << 10);
}

TEST(Asset, BytesAreThoseOfTheFile) {
  const Asset* icon = find_asset("icon.svg");
  ASSERT_NE(icon, nullptr);
  EXPECT_TRUE(icon->bytes.starts_with("<svg "));
  EXPECT_TRUE(icon->bytes.ends_with("</svg>\n"));
  EXPECT_EQ(find_asset("../icon.svg"), nullptr);
  EXPECT_EQ(find_asset(""), nullptr);
}

TEST(Asset, ReplyKeepsThePageToItself) {
  const http::Reply reply = reply_of(*find_asset("index.html"), "");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.type, "text/html; charset=utf-8");
  EXPECT_THAT(reply.fields, HasSubstr("Content-Security-Policy: default-src 'none'; "));
  EXPECT_THAT(reply.fields, Not(HasSubstr("unsafe")));
  EXPECT_THAT(reply.fields, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  ASSERT_EQ(reply.parts.size(), 1U);
}

TEST(Asset, ClientThatHasTheFileGetsNoBytes) {
  const Asset& page = *find_asset("index.html");
  const http::Reply reply = reply_of(page, std::string("\"other\", W/") + std::string(page.etag));
  EXPECT_EQ(reply.status, 304);
  EXPECT_TRUE(reply.parts.empty());
  EXPECT_THAT(reply.fields, HasSubstr(page.etag));
  EXPECT_EQ(reply_of(page, "\"other\"").status, 200);
}

/// No outside assets, and nothing that the policy would refuse.
TEST(Asset, FilesNameNoOtherHostAndHoldNoInlineScript) {
  for (const Asset& asset : assets()) {
    const std::string text(asset.bytes);
    for (const char* forbidden :
         {"https://", "//cdn", "eval(", "innerHTML", " onclick=", "<style"}) {
      EXPECT_THAT(text, Not(HasSubstr(forbidden))) << asset.name;
    }
  }
}

}  // namespace
}  // namespace sluice::page
