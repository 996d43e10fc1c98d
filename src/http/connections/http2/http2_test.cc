// Connections of HTTP/2 as clients have them: many requests at once, streams, resets, the end.
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
using testing::Http2Test;
using testing::kGetA;
using testing::Socket;
using ::testing::UnorderedElementsAre;

TEST_F(Http2Test, RequestsAreThoseOfHttp11) {
  Client client(*server_);
  const Got& got = client.reply(client.ask("/a?query", {{"authorization", "Bearer x"}}));
  EXPECT_EQ(got.status, "200");
  EXPECT_EQ(got.body, "GET a /a Bearer x 0");
  EXPECT_EQ(got.fields.at("content-type"), kText);
  EXPECT_EQ(got.fields.at("content-length"), std::to_string(got.body.size()));
  const Got& tag = client.reply(client.ask("/tag", {{"if-none-match", "\"x\""}}));
  EXPECT_EQ(tag.status, "304");
  EXPECT_EQ(tag.fields, (Fields{{"etag", "\"x\""}}));
  const Got& head = client.reply(client.ask("/a", {}, "HEAD"));
  EXPECT_EQ(head.fields.at("content-length"), "12");
  EXPECT_EQ(head.body, "");
}

TEST_F(Http2Test, RepliesComeInTheOrderOfTheirAnswers) {
  Client client(*server_);
  const std::int32_t first = client.ask("/later");
  const std::int32_t second = client.ask("/later");
  EXPECT_EQ(client.reply(client.ask("/a")).body, "GET a /a  0");
  const auto answers = kept(2);
  std::thread([&] { answers[1]({200, kText, "the second"}); }).join();
  EXPECT_EQ(client.reply(second).body, "the second");
  EXPECT_FALSE(client.got(first).is_closed);
  answers[0]({200, kText, "the first"});
  EXPECT_EQ(client.reply(first).body, "the first");
}

TEST_F(Http2Test, LongBodiesAndRepliesArriveSideBySide) {
  Client client(*server_);
  std::vector<std::int32_t> sent;
  std::vector<std::int32_t> asked;
  for (int i = 0; i < 3; ++i) {
    sent.push_back(client.post("/p", "<" + std::string(4'000'000, 'b') + ">"));
    asked.push_back(client.ask("/large"));
  }
  for (const std::int32_t id : sent) {
    EXPECT_EQ(client.reply(id).body, "POST a /p  4000002 <>");
  }
  for (const std::int32_t id : asked) {
    EXPECT_EQ(client.reply(id).body, std::string(8'000'000, 'x'));
  }
}

TEST_F(Http2Test, StreamsComePieceByPieceAndOthersBetweenThem) {
  Client client(*server_);
  const std::int32_t id = client.ask("/stream");
  stream_->push("one");
  EXPECT_TRUE(client.read_until([&] { return client.got(id).body == "one"; }));
  EXPECT_EQ(client.reply(client.ask("/a")).body, "GET a /a  0");
  stream_->push(" and two");
  EXPECT_TRUE(client.read_until([&] { return client.got(id).body == "one and two"; }));
  stream_->end();
  EXPECT_EQ(client.reply(id).code, NGHTTP2_NO_ERROR);
  EXPECT_EQ(client.got(id).fields.count("content-length"), 0U);
  EXPECT_EQ(client.got(id).fields.at("cache-control"), "no-store");
  EXPECT_EQ(num_cancelled_, 0);
}

TEST_F(Http2Test, StreamWaitsForAClientThatGivesNoRoom) {
  Client client(*server_, /*reads=*/false);
  const std::int32_t id = client.ask("/stream");
  std::thread producer([&] {
    const std::string piece(10'000, '#');
    while (stream_->push(piece)) {
    }
  });
  // A window of 65,535 bytes, and as many that wait: the producer stops.
  producer.join();
  EXPECT_TRUE(client.read_until([&] { return client.got(id).body.size() == 65'535; }));
  client.reset(id);
  EXPECT_TRUE(eventually([&] { return num_cancelled_ == 1; }));
}

TEST_F(Http2Test, ResetCancelsOneRequestAlone) {
  Client client(*server_);
  const std::int32_t first = client.ask("/later");
  const std::int32_t second = client.ask("/later");
  const auto answers = kept(2);
  client.reset(first);
  EXPECT_TRUE(eventually([&] { return num_cancelled_ == 1; }));
  answers[0]({200, kText, "too late"});
  answers[1]({200, kText, "in time"});
  EXPECT_EQ(client.reply(second).body, "in time");
  EXPECT_EQ(num_cancelled_, 1);
}

TEST_F(Http2Test, ClientThatGoesCancelsAllItsRequests) {
  auto client = std::make_unique<Client>(*server_);
  client->ask("/later");
  client->ask("/later");
  const auto answers = kept(2);
  client = nullptr;
  EXPECT_TRUE(eventually([&] { return num_cancelled_ == 2; }));
  for (const Answer& answer : answers) answer({200, kText, "too late"});
}

TEST_F(Http2Test, ClientThatWaitsForItIsToldToGoOn) {
  Client client(*server_);
  const Got& got = client.reply(client.post("/p", "ok", {{"expect", "100-continue"}}));
  EXPECT_THAT(got.words, UnorderedElementsAre("100"));
  EXPECT_EQ(got.body, "POST a /p  2 ok");
}

TEST_F(Http2Test, PrefaceMayComeInPieces) {
  const Socket socket(*server_);
  const std::string all =
      greeting() + frame(http2::kHeaders, http2::kEndStream | http2::kEndHeaders, 1, kGetA);
  for (const char one : all) socket.write(std::string_view(&one, 1));
  std::string got;
  while (got.find("GET a /a") == std::string::npos) {
    const std::string more = socket.read();
    ASSERT_FALSE(more.empty());
    got += more;
  }
}

TEST_F(Http2Test, GoodbyeLetsRequestsEndThatWereOnTheirWay) {
  Client client(*server_);
  EXPECT_EQ(client.reply(client.ask("/a")).status, "200");
  const std::int32_t late = client.ask("/later");
  const auto answers = kept();
  server_->say_goodbye();
  // The second one names the last request. The client's library takes it while a request is open.
  EXPECT_TRUE(client.read_until([&] { return client.num_goodbyes() == 2; }));
  answers[0]({200, kText, "the last"});
  EXPECT_EQ(client.reply(late).body, "the last");
  EXPECT_FALSE(client.read_until([] { return false; })) << "the server ends it";
}

TEST_F(Http2Test, ShutdownAnswersWhatItHasAndClosesTheRest) {
  Client waiting(*server_);
  EXPECT_EQ(waiting.reply(waiting.ask("/a")).status, "200");
  Client busy(*server_);
  const std::int32_t id = busy.ask("/later");
  const auto answers = kept();
  std::thread shutdown([&] { server_->shutdown(60'000'000'000); });
  EXPECT_FALSE(waiting.read_until([] { return false; }));
  answers[0]({200, kText, "the last"});
  EXPECT_EQ(busy.reply(id).body, "the last");
  EXPECT_FALSE(busy.read_until([] { return false; }));
  shutdown.join();
}

TEST_F(Http2Test, SilentConnectionsMakeRoomForOthers) {
  std::vector<std::unique_ptr<Client>> silent;
  for (std::size_t i = 0; i < 4 * options().max_connections; ++i) {
    silent.push_back(std::make_unique<Client>(*server_));
    silent.back()->flush();
  }
  EXPECT_EQ(answer_to("/a"), "GET a /a  0");
  EXPECT_FALSE(silent.front()->read_until([] { return false; }));
}

}  // namespace
}  // namespace sluice::http
