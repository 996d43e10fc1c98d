// Connections as clients have them: what comes in pieces, at once, slowly, too much, or is no HTTP.
#include "http/connections/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "support/eventually.h"
#include "support/no_threads.h"

namespace sluice::http {
namespace {

using sluice::testing::eventually;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// One end of a socket whose other end the server has. Ends with the object.
class Client {
 public:
  explicit Client(Server& server) {
    std::array<int, 2> ends = {};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    fd_ = ends[0];
    server.add(ends[1], {"a test"}, nullptr);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { close(fd_); }

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t num = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (num <= 0) return;  // the server may have closed
      bytes.remove_prefix(static_cast<std::size_t>(num));
    }
  }
  void end_writing() const { shutdown(fd_, SHUT_WR); }
  /// All until the server ends it.
  std::string read_all() const {
    std::string all;
    while (read_some(all)) {
    }
    return all;
  }
  /// All up to and with `end`. `most`: bytes read at a time; by one nothing behind it is read.
  std::string read_until(std::string_view end, std::size_t most = 1) const {
    std::string all;
    while (!all.ends_with(end) && read_some(all, most)) {
    }
    return all;
  }
  /// A reply: its head and the bytes that this announces.
  std::string read_reply() const {
    std::string all;
    std::size_t head = 0;
    while ((head = all.find("\r\n\r\n")) == std::string::npos) {
      if (!read_some(all, 1)) return all;
    }
    const std::size_t at = all.find("Content-Length: ");
    const std::size_t size = at < head ? std::stoul(all.substr(at + 16)) : 0;
    while (all.size() < head + 4 + size) {
      if (!read_some(all, head + 4 + size - all.size())) return all;
    }
    return all;
  }

 private:
  bool read_some(std::string& all, std::size_t most = 1 << 16) const {
    std::string buffer(most, '\0');
    const ssize_t num = recv(fd_, buffer.data(), buffer.size(), 0);
    if (num > 0) all.append(buffer, 0, static_cast<std::size_t>(num));
    return num > 0;
  }

  int fd_ = -1;
};

std::string get(std::string_view path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", path);
}
std::string post(std::string_view body) {
  return fmt::format("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}", body.size(),
                     body);
}

class HttpServerTest : public ::testing::Test {
 protected:
  static ServerOptions options() {
    ServerOptions options;
    options.max_body_bytes = 8 << 20;
    options.max_connections = 8;
    return options;
  }
  explicit HttpServerTest(const ServerOptions& options = HttpServerTest::options())
      : server_(Server::start(options, [this](Request request, const Answer& answer) {
                  return take(std::move(request), answer);
                }).value()) {}
  ~HttpServerTest() override { server_->shutdown(0); }

  /// Says what came. /later keeps the answer for the test; /large is large; /stream is the test's.
  Cancel take(Request request, const Answer& answer) {
    if (request.path == "/stream") {
      Reply reply;
      reply.type = kEvents;
      reply.stream = stream_;
      answer(std::move(reply));
      return [this] {
        is_cancelled_ = true;
        stream_->end();
      };
    }
    if (request.path == "/later") {
      const std::lock_guard lock(mutex_);
      kept_ = answer;
      return [this] { is_cancelled_ = true; };
    }
    if (request.path == "/release") kept()({200, kText, "released"});
    if (request.path == "/parts") {
      Reply reply = {200, kText, "a "};
      reply.parts.assign(50, "part ");
      answer(std::move(reply));
      answer({500, kText, "the second of two"});
      return nullptr;
    }
    if (request.path == "/thread") {
      const std::size_t id = std::hash<std::thread::id>()(std::this_thread::get_id());
      answer({200, kText, fmt::format("thread {}", id)});
      return nullptr;
    }
    if (request.path == "/tag") {
      Reply reply = {304, kText, {}};
      reply.fields = fmt::format("ETag: {}\r\n", request.if_none_match);
      answer(std::move(reply));
      return nullptr;
    }
    if (const Status status = decode_body(request); !status.is_ok()) {
      answer(error_reply(body_status(status), status.message()));
      return nullptr;
    }
    const std::string_view body = request.body->bytes();
    Reply reply = {200, kText, fmt::format("{} {} {}", request.method, request.path, body.size())};
    if (!body.empty()) reply.text += fmt::format(" {}{}", body.front(), body.back());
    if (request.path == "/large") reply.text.assign(8'000'000, 'x');  // more than a socket holds
    reply.coding = choose_coding(request.accept_encoding);
    answer(std::move(reply));
    return nullptr;
  }
  Answer kept() {
    Answer answer;
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex_);
      answer = std::exchange(kept_, nullptr);
      return answer != nullptr;
    }));
    return answer;
  }
  std::string answer_to(std::string_view request) const {
    const Client client(*server_);
    client.write(request);
    client.end_writing();
    return client.read_all();
  }

  std::mutex mutex_;
  Answer kept_;
  std::atomic<bool> is_cancelled_ = false;
  std::atomic<int> num_resumed_ = 0;
  const std::shared_ptr<ReplyStream> stream_ =
      std::make_shared<ReplyStream>([this] { ++num_resumed_; });
  const std::unique_ptr<Server> server_;
};

TEST_F(HttpServerTest, ConnectionsStayOpenForTheNextRequest) {
  const Client client(*server_);
  for (int i = 0; i < 3; ++i) {
    client.write(get("/a"));
    const std::string reply = client.read_reply();
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(reply, EndsWith("\r\n\r\nGET /a 0"));
  }
  client.write("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.read_all(), HasSubstr("\r\nConnection: close\r\n"));
}

TEST_F(HttpServerTest, ConnectionStaysWithItsThreadAndOthersHaveAnother) {
  std::set<std::string> threads;
  for (int i = 0; i < 4; ++i) {
    const Client client(*server_);
    const auto thread = [&] {
      client.write(get("/thread"));
      const std::string reply = client.read_reply();
      return reply.substr(reply.find("\r\n\r\n"));
    };
    const std::string first = thread();
    EXPECT_THAT(first, HasSubstr("thread "));
    for (int j = 0; j < 20; ++j) EXPECT_EQ(thread(), first);
    threads.insert(first);
  }
  EXPECT_EQ(threads.size(), static_cast<std::size_t>(options().num_threads));
}

TEST_F(HttpServerTest, BodiesComeInTheirCoding) {
  const std::vector<std::string_view> parts = {"xyz"};
  const std::string gzip = encode(parts, Coding::kGzip).value();
  const auto head = [](std::size_t size) {
    return fmt::format(
        "POST /p HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        size);
  };
  EXPECT_THAT(answer_to(head(gzip.size()) + gzip), EndsWith("\r\n\r\nPOST /p 3 xz"));
  EXPECT_THAT(answer_to(head(3) + "xyz"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(head(0)), EndsWith("\r\n\r\nPOST /p 0"));
  const std::string zeros(9 << 20, '\0');  // over the limit of a body
  const std::vector<std::string_view> bomb = {zeros};
  const std::string small = encode(bomb, Coding::kGzip).value();
  ASSERT_LT(small.size(), 100'000U);
  EXPECT_THAT(answer_to(head(small.size()) + small), StartsWith("HTTP/1.1 413 "));
}

TEST_F(HttpServerTest, RepliesHaveACodingWhereItMakesThemSmaller) {
  const Client client(*server_);
  client.write("GET /large HTTP/1.1\r\nHost: a\r\nAccept-Encoding: deflate\r\n\r\n");
  const std::string reply = client.read_reply();
  EXPECT_THAT(reply, HasSubstr("\r\nContent-Encoding: deflate\r\n"));
  Body body(std::make_shared<ByteBudget>(64 << 20), -1, 8'000'000);
  const std::string coded = reply.substr(reply.find("\r\n\r\n") + 4);
  ASSERT_TRUE(decode(coded, Coding::kDeflate, body).is_ok());
  EXPECT_EQ(body.bytes(), std::string(8'000'000, 'x'));
  client.write("GET /a HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
  EXPECT_THAT(client.read_reply(), AllOf(EndsWith("\r\n\r\nGET /a 0"), Not(HasSubstr("gzip"))));
}

TEST_F(HttpServerTest, ReplyWithoutChangeHasNoContent) {
  const Client client(*server_);
  client.write("GET /tag HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"x\"\r\n\r\n");
  client.write("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n"
                                            "HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpServerTest, RequestsThatComeAtOnceAreAnsweredInOrder) {
  const Client client(*server_);
  client.write(get("/a") + post("xyz") + get("/b?query") + post(""));
  for (const char* expected : {"GET /a 0", "POST /p 3 xz", "GET /b 0", "POST /p 0"}) {
    EXPECT_THAT(client.read_reply(), EndsWith(fmt::format("\r\n\r\n{}", expected)));
  }
}

TEST_F(HttpServerTest, RequestsInPiecesAndLongBodiesArrive) {
  const std::string body = "<" + std::string(5'000'000, 'b') + ">";
  const std::string request = post(body);
  const Client client(*server_);
  for (std::size_t at = 0; at < 200; ++at) client.write(request.substr(at, 1));
  client.write(request.substr(200));
  EXPECT_THAT(client.read_reply(), EndsWith("POST /p 5000002 <>"));
  client.write(get("/after"));
  EXPECT_THAT(client.read_reply(), EndsWith("GET /after 0"));
}

TEST_F(HttpServerTest, BodiesInChunksArrive) {
  const Client client(*server_);
  client.write("POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 100; ++i) client.write("400\r\n" + std::string(1024, 'c') + "\r\n");
  client.write("1\r\n!\r\n0\r\n\r\n" + get("/after"));
  EXPECT_THAT(client.read_reply(), EndsWith("POST /p 102401 c!"));
  EXPECT_THAT(client.read_reply(), EndsWith("GET /after 0"));
}

TEST_F(HttpServerTest, ClientThatWaitsForItIsToldToGoOn) {
  const Client client(*server_);
  client.write("POST /p HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read_reply(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.write("ok");
  EXPECT_THAT(client.read_reply(), EndsWith("POST /p 2 ok"));
  EXPECT_THAT(answer_to("POST /p HTTP/1.0\r\nExpect: foo\r\nContent-Length: 2\r\n\r\nok"),
              EndsWith("POST /p 2 ok"))
      << "HTTP/1.0 has no expectations";
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  const Client client(*server_);
  client.write("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n" + get("/b"));
  client.end_writing();
  const std::string all = client.read_all();
  EXPECT_THAT(all, HasSubstr("Content-Length: 9\r\n\r\nHTTP/1.1 200 OK"));
}

TEST_F(HttpServerTest, SlowReadersGetAllOfALongReply) {
  const Client client(*server_);
  client.write(get("/large") + get("/after"));
  EXPECT_GT(client.read_reply().size(), 8'000'000U);
  EXPECT_THAT(client.read_reply(), EndsWith("GET /after 0"));
}

TEST_F(HttpServerTest, WhatIsNoRequestGetsAnErrorAndTheEnd) {
  struct Case {
    std::string request;
    std::string_view status;
  };
  const std::string head = "POST /p HTTP/1.1\r\nHost: a\r\n";
  const std::vector<Case> cases = {
      {"rubbish\r\n\r\n", "400"},
      {std::string(100'000, 'x'), "4"},
      {head + "A: " + std::string(100'000, 'x') + "\r\n\r\n", "431"},
      {"GET /a HTTP/3.0\r\nHost: a\r\n\r\n", "505"},
      // Two lengths are a way to hide a request behind another.
      {head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
      {head + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", "400"},
      {head + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "400"},
      // So is a coding that only one of two readers knows.
      {head + "Transfer-Encoding: xchunked\r\nContent-Length: 3\r\n\r\nabc", "400"},
      {head + "Transfer-Encoding: xchunked\r\n\r\n" + get("/b"), "400"},
      {head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "400"},
      {head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n", "400"},
      {"POST /p HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
      {head + "Content-Length: -1\r\n\r\n", "400"},
      {head + "Content-Length: 18446744073709551616\r\n\r\n", "400"},
      {head + "Content-Length: 9000000\r\n\r\n", "413"},
      {head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "400"},
      {head + "Transfer-Encoding: chunked\r\n\r\n7fffffff\r\nx", "413"},
      {head + "Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx", "415"},
      {head + "Content-Encoding: gzip, gzip\r\nContent-Length: 1\r\n\r\nx", "415"},
      {head + "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
       "415"},
      {head + "Expect: foo\r\nContent-Length: 1\r\n\r\nx", "417"},
      {"GET /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue, foo\r\n\r\n", "417"},
      {"GET /a HTTP/1.1\r\nHost: a\r\nExpect:\r\n\r\n", "417"},
      {head + "Inference-Header-Content-Length: -5\r\nContent-Length: 1\r\n\r\nx", "400"},
      {"GET /a HTTP/1.1\r\nHost : a\r\n\r\n", "400"},
      {"GET /a HTTP/1.1\r\n\r\n", "400"},
      {"GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"},
      {"GET /a HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\nOrigin: http://b\r\n\r\n", "400"},
      {"GET /a HTTP/1.1\nHost: a\n\n", "505"},  // a line ends in CR LF: "1.1\n" is no version
  };
  for (const Case& wrong : cases) {
    const std::string answer = answer_to(wrong.request);
    EXPECT_THAT(answer, StartsWith(fmt::format("HTTP/1.1 {}", wrong.status)))
        << wrong.request.substr(0, 100);
    EXPECT_THAT(answer, HasSubstr("{\"error\":")) << wrong.request.substr(0, 100);
  }
  EXPECT_THAT(answer_to(get("/a")), EndsWith("GET /a 0"));
}

TEST_F(HttpServerTest, TargetsMayBeAbsolute) {
  EXPECT_THAT(answer_to("GET http://b:80/a?x HTTP/1.1\r\nHost: a\r\n\r\n"), EndsWith("GET /a 0"));
  EXPECT_THAT(answer_to("GET http://b HTTP/1.1\r\nHost: a\r\n\r\n"), EndsWith("GET / 0"));
}

TEST_F(HttpServerTest, ClientThatGoesCancelsItsRequest) {
  auto client = std::make_unique<Client>(*server_);
  client->write(get("/later"));
  const Answer answer = kept();
  client = nullptr;
  EXPECT_TRUE(eventually([&] { return is_cancelled_.load(); }));
  answer({200, kText, "too late"});
}

TEST_F(HttpServerTest, AnswersMayComeLaterFromAnyThread) {
  const Client client(*server_);
  client.write(get("/later") + get("/after"));
  std::thread([answer = kept()] { answer({200, kText, "later"}); }).join();
  EXPECT_THAT(client.read_reply(), EndsWith("later"));
  EXPECT_THAT(client.read_reply(), EndsWith("GET /after 0"));
}

TEST_F(HttpServerTest, AnswersMayComeWhileAnotherRequestIsHandedOver) {
  const Client waits(*server_);
  waits.write(get("/later"));
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex_);
    return kept_ != nullptr;
  }));
  EXPECT_THAT(answer_to(get("/release")), EndsWith("GET /release 0"));
  EXPECT_THAT(waits.read_reply(), EndsWith("\r\n\r\nreleased"));
  waits.write(get("/a"));
  EXPECT_THAT(waits.read_reply(), EndsWith("GET /a 0"));
}

TEST_F(HttpServerTest, RepliesOfManyPartsComeWholeAndOnce) {
  const Client client(*server_);
  std::string expected = "\r\n\r\na ";
  for (int i = 0; i < 50; ++i) expected += "part ";
  client.write(get("/parts") + get("/parts") + get("/a"));
  EXPECT_THAT(client.read_reply(), EndsWith(expected));
  EXPECT_THAT(client.read_reply(), EndsWith(expected));
  EXPECT_THAT(client.read_reply(), EndsWith("GET /a 0"));
}

TEST_F(HttpServerTest, StreamsComeInChunksAndTheConnectionStaysOpen) {
  const Client client(*server_);
  client.write(get("/stream"));
  stream_->push("one");
  EXPECT_THAT(
      client.read_until("3\r\none\r\n"),
      AllOf(HasSubstr("\r\nContent-Type: text/event-stream; charset=utf-8\r\n"),
            HasSubstr("\r\nTransfer-Encoding: chunked\r\n"), Not(HasSubstr("Content-Length"))));
  stream_->push("the second piece");
  EXPECT_EQ(client.read_until("piece\r\n"), "10\r\nthe second piece\r\n");
  stream_->end();
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
  client.write(get("/a"));
  EXPECT_THAT(client.read_reply(), EndsWith("GET /a 0"));
  EXPECT_FALSE(is_cancelled_);
}

TEST_F(HttpServerTest, ClientsOfHttp10ReadAStreamToItsEnd) {
  const Client client(*server_);
  client.write("GET /stream HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n");
  stream_->push("all");
  stream_->end();
  const std::string all = client.read_all();
  EXPECT_THAT(all, AllOf(HasSubstr("\r\nConnection: close\r\n\r\nall"), EndsWith("all"),
                         Not(HasSubstr("chunked"))));
}

TEST_F(HttpServerTest, StreamWaitsForAClientThatDoesNotRead) {
  constexpr std::size_t kPieces = 400;
  const std::string piece(10'000, '#');
  const Client client(*server_);
  client.write(get("/stream"));
  std::atomic<int> num_full = 0;
  std::thread producer([&] {
    for (std::size_t i = 0; i < kPieces; ++i) {
      if (stream_->push(piece)) continue;
      ++num_full;
      EXPECT_TRUE(eventually([&] { return num_resumed_ == num_full; }));
    }
    stream_->end();
  });
  EXPECT_TRUE(eventually([&] { return num_full > 0; }));
  const std::string all = client.read_until("\r\n0\r\n\r\n", 1 << 16);
  producer.join();
  EXPECT_EQ(std::ranges::count(all, '#'), static_cast<std::ptrdiff_t>(kPieces * piece.size()));
}

TEST_F(HttpServerTest, ClientThatGoesInTheMiddleOfAStreamCancelsIt) {
  auto client = std::make_unique<Client>(*server_);
  client->write(get("/stream"));
  stream_->push("one");
  client->read_until("one\r\n");
  client = nullptr;
  EXPECT_TRUE(eventually([&] { return is_cancelled_.load(); }));
}

TEST_F(HttpServerTest, SilentConnectionsMakeRoomForOthers) {
  std::vector<std::unique_ptr<Client>> silent;
  for (std::size_t i = 0; i < 4 * options().max_connections; ++i) {
    silent.push_back(std::make_unique<Client>(*server_));
    silent.back()->write(std::string_view("GET /a").substr(0, i % 6));
  }
  EXPECT_THAT(answer_to(get("/a")), EndsWith("GET /a 0"));
  EXPECT_EQ(silent.front()->read_all(), "");
}

TEST_F(HttpServerTest, ConnectionsWithRequestsAreNotGivenUp) {
  std::vector<std::unique_ptr<Client>> busy;
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < options().max_connections; ++i) {
    busy.push_back(std::make_unique<Client>(*server_));
    busy.back()->write(get("/later"));
    answers.push_back(kept());
  }
  EXPECT_EQ(answer_to(get("/a")), "");
  for (std::size_t i = 0; i < busy.size(); ++i) {
    answers[i]({200, kText, "busy"});
    EXPECT_THAT(busy[i]->read_reply(), EndsWith("busy"));
  }
}

TEST_F(HttpServerTest, ShutdownAnswersWhatItHasAndClosesTheRest) {
  const Client waiting(*server_);
  const Client half(*server_);
  half.write("GET /a HT");
  const Client busy(*server_);
  busy.write(get("/later"));
  const Answer answer = kept();
  std::thread shutdown([&] { server_->shutdown(60'000'000'000); });
  EXPECT_EQ(waiting.read_all(), "");
  answer({200, kText, "the last"});
  EXPECT_THAT(busy.read_all(), EndsWith("the last"));
  shutdown.join();
  EXPECT_EQ(half.read_all(), "");
  const Client late(*server_);
  EXPECT_EQ(late.read_all(), "");
  answer({200, kText, "nobody is there"});
}

/// Little memory for bodies, and little patience.
class ImpatientServerTest : public HttpServerTest {
 protected:
  static ServerOptions options() {
    ServerOptions options = HttpServerTest::options();
    options.all_body_bytes = 1 << 20;
    options.idle_ns = 50'000'000;
    return options;
  }
  ImpatientServerTest() : HttpServerTest(options()) {}
};

TEST_F(ImpatientServerTest, BodyThatDripsIsGivenUp) {
  const Client client(*server_);
  client.write("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
  std::atomic<bool> is_over = false;
  std::thread drip([&] {
    while (!is_over) {
      client.write("x");
      sluice::testing::pause_for(std::chrono::milliseconds(5));
    }
  });
  EXPECT_EQ(client.read_all(), "") << "ends long before 100,000 bytes came";
  is_over = true;
  drip.join();
}

TEST_F(ImpatientServerTest, BodyBeyondTheBudgetOfAllMayComeLater) {
  const std::string answer =
      answer_to("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n" +
                std::string(4'000'000, 'x'));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503")) << "413 would say never";
}

TEST(HttpServer, TellsThatItGetsNoThreads) {
  const testing::NoThreads no_threads;
  EXPECT_EQ(Server::start({}, nullptr).status().code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace sluice::http
