// Clients of HTTP/2 that send too much, too little, or what is no request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "http/testing/http2_fixture.h"

namespace sluice::http {
namespace {

using sluice::testing::eventually;
using testing::Client;
using testing::Fields;
using testing::frame;
using testing::Got;
using testing::greeting;
using ::testing::HasSubstr;
using testing::Http2Test;
using testing::kGetA;
using testing::Socket;
using ::testing::StartsWith;

TEST_F(Http2Test, ResetRequestsCountUntilTheyAreAnswered) {
  constexpr std::size_t kMost = 100;
  Client client(*server_);
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < kMost; ++i) ids.push_back(client.ask("/later"));
  const auto answers = kept(kMost);
  for (const std::int32_t id : ids) client.reset(id);
  EXPECT_EQ(client.reply(client.ask("/a")).code, NGHTTP2_REFUSED_STREAM);
  for (const Answer& answer : answers) answer({200, kText, "too late"});
  EXPECT_TRUE(eventually([&] { return client.reply(client.ask("/a")).status == "200"; }));
}

TEST_F(Http2Test, WhatCannotBeServedIsRefusedAndTheConnectionGoesOn) {
  Client client(*server_);
  struct Case {
    Fields fields;
    std::string_view status;
  };
  const std::vector<Case> cases = {
      {{{"content-length", "9000000"}}, "413"},
      {{{"content-encoding", "br"}}, "415"},
      {{{"expect", "foo"}}, "417"},
      {{{"inference-header-content-length", "-5"}}, "400"},
      {{{"host", "b"}}, "400"},
      {{{"x", std::string(30'000, 'x')}}, "431"},
  };
  for (const Case& wrong : cases) {
    const Got& got = client.reply(client.post("/p", "abc", wrong.fields, /*all=*/false));
    EXPECT_EQ(got.status, wrong.status) << wrong.fields.begin()->first;
    EXPECT_THAT(got.body, StartsWith("{\"error\":"));
    EXPECT_EQ(got.code, NGHTTP2_NO_ERROR) << "the client need not send the rest";
  }
  const Got& large = client.reply(client.post("/p", std::string(9'000'000, 'x')));
  EXPECT_EQ(large.status, "413");
  EXPECT_EQ(client.reply(client.ask("/a", {{"host", "a"}})).status, "200") << "the same host";
}

TEST_F(Http2Test, OtherVersionsAreToldSo) {
  const Socket socket(*server_);
  socket.write("PRI * HTTP/3.0\r\n\r\nSM\r\n\r\n");
  EXPECT_THAT(socket.read_all(), StartsWith("HTTP/1.1 505 "));
}

/// Each case: what a connection sends first, and then over and over.
TEST_F(Http2Test, FloodsEndTheConnectionAndNoOther) {
  Client other(*server_);
  EXPECT_EQ(other.reply(other.ask("/a")).status, "200");
  const std::string asks = frame(http2::kHeaders, http2::kEndHeaders, 1, kGetA);
  const std::vector<std::pair<std::string, std::string>> floods = {
      {"", frame(http2::kSettings, 0, 0)},
      {"", frame(6, 0, 0, "12345678")},
      {"", frame(2, 0, 1, std::string_view("\0\0\0\0\x10", 5))},
      {asks, frame(http2::kData, 0, 1)},
      {frame(http2::kHeaders, 0, 1, kGetA), frame(http2::kContinuation, 0, 1)},
      {frame(http2::kHeaders, 0, 1, kGetA),
       frame(http2::kContinuation, 0, 1, std::string(16'000, '\x82'))},
  };
  for (const auto& [first, again] : floods) {
    const Socket socket(*server_);
    std::string bytes = greeting() + first;
    for (int i = 0; i < 300; ++i) bytes += again;
    socket.write(bytes);
    const std::string got = socket.read_all();  // ends
    EXPECT_NE(got.find(std::string("\0\0\x8\x7\0\0\0\0\0", 9)), std::string::npos) << "no GOAWAY";
  }
  EXPECT_EQ(other.reply(other.ask("/a")).status, "200");
}

TEST_F(Http2Test, RapidResetEndsTheConnection) {
  const Socket socket(*server_);
  socket.write(greeting());
  std::string bytes;
  for (std::uint32_t id = 1; id < 8001; id += 2) {
    bytes += frame(http2::kHeaders, http2::kEndStream | http2::kEndHeaders, id, kGetA) +
             frame(http2::kResetStream, 0, id, std::string_view("\0\0\0\x8", 4));
  }
  std::thread reader([&] { socket.read_all(); });
  socket.write(bytes);
  reader.join();
  EXPECT_EQ(answer_to("/a"), "GET a /a  0");
}

/// A field in the table of HPACK costs one byte to repeat.
TEST_F(Http2Test, HeadsThatGrowWhenDecodedEndTheConnection) {
  const Socket socket(*server_);
  std::string head(kGetA);
  head += std::string("\x40\x01x\x7f\xa1\x1e", 6) + std::string(4'000, 'x');  // 127 + 3,873 bytes
  head += std::string(10'000, '\xbe');
  socket.write(greeting() +
               frame(http2::kHeaders, http2::kEndStream | http2::kEndHeaders, 1, head));
  socket.read_all();
  EXPECT_EQ(answer_to("/a"), "GET a /a  0");
}

/// Little memory for bodies, and little patience.
class ImpatientHttp2Test : public Http2Test {
 protected:
  static ServerOptions options() {
    ServerOptions options = Http2Test::options();
    options.all_body_bytes = 1 << 20;
    options.idle_ns = 50'000'000;
    return options;
  }
  ImpatientHttp2Test() : Http2Test(options()) {}
};

TEST_F(ImpatientHttp2Test, BodyThatStopsIsGivenUpAlone) {
  Client client(*server_);
  const std::int32_t slow = client.post("/p", "abc", {{"content-length", "100000"}}, false);
  EXPECT_EQ(client.reply(slow).code, NGHTTP2_CANCEL);
  EXPECT_EQ(client.reply(client.ask("/a")).status, "200");
}

TEST_F(ImpatientHttp2Test, ReplyThatNobodyReadsIsGivenUp) {
  Client client(*server_, /*reads=*/false);
  const Got& got = client.reply(client.ask("/large"));
  EXPECT_EQ(got.code, NGHTTP2_CANCEL);
  EXPECT_EQ(got.body.size(), 65'535U);
}

TEST_F(ImpatientHttp2Test, RequestMayBeComputedForLong) {
  Client client(*server_);
  const std::int32_t id = client.ask("/later");
  const auto answers = kept();
  sluice::testing::pause_for(std::chrono::milliseconds(200));
  answers[0]({200, kText, "at last"});
  EXPECT_EQ(client.reply(id).body, "at last");
}

TEST_F(ImpatientHttp2Test, BodyBeyondTheBudgetOfAllMayComeLater) {
  Client client(*server_);
  const Got& got = client.reply(client.post("/p", std::string(4'000'000, 'x')));
  EXPECT_EQ(got.status, "503") << "413 would say never";
  EXPECT_THAT(got.body, HasSubstr("error"));
}

}  // namespace
}  // namespace sluice::http
