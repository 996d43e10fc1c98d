#include "daemon/http/http_request.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sluice::daemon {
namespace {

using State = HttpRequest::State;
using namespace std::string_literals;

constexpr std::string_view kGood =
    "GET /metrics?module=x HTTP/1.1\r\nHost: localhost:9100\r\nAccept: "
    "text/plain;q=0.5,*/*\r\n\r\n";

TEST(HttpRequest, GetGivesItsPathWithoutTheQuery) {
  EXPECT_EQ(parse_http_request(kGood).state, State::kComplete);
  EXPECT_EQ(parse_http_request(kGood).path, "/metrics");
  EXPECT_EQ(parse_http_request("GET / HTTP/1.0\r\n\r\n").path, "/");
  const std::string followed = std::string(kGood) + "\0\xff rubbish"s;
  EXPECT_EQ(parse_http_request(followed).state, State::kComplete) << "what follows is not read";
}

TEST(HttpRequest, EveryPrefixOfAValidRequestIsIncomplete) {
  for (std::size_t size = 0; size < kGood.size(); ++size) {
    EXPECT_EQ(parse_http_request(kGood.substr(0, size)).state, State::kIncomplete) << size;
  }
}

TEST(HttpRequest, MethodsOtherThanGetAreRefused) {
  const std::pair<int, std::string> cases[] = {
      {405, "POST /metrics HTTP/1.1\r\nHost: a\r\n\r\n"},
      {405, "get /metrics HTTP/1.1\r\nHost: a\r\n\r\n"},
      {405, "HEAD / HTTP/1.0\r\n\r\n"},
      {505, "GET / HTTP/2.0\r\n\r\n"},
      {505, "GET / HTTP/1.11\r\n\r\n"},
      {400, "GET / HTTQ/1.1\r\n\r\n"},
      {400, "GET /\r\n\r\n"},
      {400, "GET / a HTTP/1.1\r\nHost: a\r\n\r\n"},
      {400, " GET / HTTP/1.0\r\n\r\n"},
      {400, "G\"T / HTTP/1.0\r\n\r\n"},
      {400, "GET metrics HTTP/1.0\r\n\r\n"},
      {400, "GET http://a/metrics HTTP/1.0\r\n\r\n"},
      {400, "GET /\x7f HTTP/1.0\r\n\r\n"},
      {400, "GET /\xc3\xa4 HTTP/1.0\r\n\r\n"},
      {400, "GET /\0 HTTP/1.0\r\n\r\n"s},
      {400, "\r\n\r\n"},
      {400, "\r\nGET / HTTP/1.0\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n"},
      {400, "GET / HTTP/1.0\r\nno field\r\n\r\n"},
      {400, "GET / HTTP/1.0\r\nA : b\r\n\r\n"},
      {400, "GET / HTTP/1.0\r\n: b\r\n\r\n"},
      {400, "GET / HTTP/1.0\r\nA: b\r\n c\r\n\r\n"},
      {400, "GET / HTTP/1.0\r\nA: b\nC: d\r\n\r\n"},
      {400, "GET / HTTP/1.0\r\nA: b\rc\r\n\r\n"},
      {400, "GET / HTTP/1.0\r\nA: \0\r\n\r\n"s},
      {413, "GET / HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello"},
      {413, "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
  };
  for (const auto& [status, text] : cases) {
    const HttpRequest request = parse_http_request(text);
    EXPECT_EQ(request.state, State::kRefused) << text;
    EXPECT_EQ(request.status, status) << text << ": " << request.reason;
    EXPECT_FALSE(request.reason.empty());
  }
}

TEST(HttpRequest, EndlessRequestIsRefusedAtTheLimit) {
  std::string text = "GET / HTTP/1.0\r\nA: ";
  text.resize(kMaxRequestBytes - 1, 'a');
  EXPECT_EQ(parse_http_request(text).state, State::kIncomplete);
  text += "a\r\n\r\n";
  EXPECT_EQ(parse_http_request(text).status, 431);
  EXPECT_EQ(parse_http_request(std::string(1 << 20, '\n')).status, 431);
}

/// Sanitizers see what is read; here: that any answer is one of the three, and that more bytes
/// never turn a request that was taken or refused into another.
TEST(HttpRequest, VerdictOnHostileBytesIsStable) {
  std::mt19937 random(20240817);
  const std::string_view seasoning =
      "\r\n\r\n\r\n: :\t /HTTP/1.1Host:GETContent-Length:0\0\x7f\xff";
  for (int i = 0; i < 20000; ++i) {
    std::string text(kGood.substr(0, random() % (kGood.size() + 1)));
    for (std::size_t edits = random() % 6; edits > 0 && !text.empty(); --edits) {
      text[random() % text.size()] = seasoning[random() % seasoning.size()];
    }
    for (std::size_t more = random() % 20; more > 0; --more) {
      text.insert(text.begin() + static_cast<std::ptrdiff_t>(random() % (text.size() + 1)),
                  seasoning[random() % seasoning.size()]);
    }
    const HttpRequest request = parse_http_request(text);
    if (request.state == State::kIncomplete) continue;
    ASSERT_TRUE(request.state == State::kComplete ? request.path.starts_with('/')
                                                  : request.status >= 400)
        << text;
    const HttpRequest longer = parse_http_request(text + "\r\n\r\n");
    ASSERT_EQ(longer.state, request.state) << text;
    ASSERT_EQ(longer.path, request.path) << text;
  }
}

}  // namespace
}  // namespace sluice::daemon
