// A client connects to a daemon that starts later, or that was restarted.
#include "rpc/client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "rpc/testing/serving.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::rpc {
namespace {

using ::testing::HasSubstr;

/// A Unix socket that ends each connection at once.
class Refuser {
 public:
  explicit Refuser(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {AF_UNIX, {}};
    std::ranges::copy(path, address.sun_path);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(fd_, 64), 0);
    thread_ = std::thread([this] {
      for (int peer = accept(fd_, nullptr, nullptr); peer >= 0; ++num_refused_) {
        close(peer);
        peer = accept(fd_, nullptr, nullptr);
      }
    });
  }
  ~Refuser() { close(fd_); }
  Refuser(const Refuser&) = delete;
  Refuser& operator=(const Refuser&) = delete;

  /// Refuses no more. Returns the number of connections that it ended.
  int stop() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    return num_refused_;
  }

 private:
  const int fd_;
  int num_refused_ = 0;
  std::thread thread_;
};

TEST(Client, TriesToConnectManyTimesASecond) {
  const sluice::testing::TempDir folder;
  const std::string socket = (folder / "s").string();
  Refuser refuser(socket);
  // Less than gRPC's own wait before the second attempt.
  const auto client =
      client::Client::create({.address = "unix:" + socket, .connect_timeout_ns = 700'000'000});
  ASSERT_TRUE(client.is_ok()) << client.status().to_string();
  EXPECT_EQ((*client)->server().status().code(), Code::kUnavailable);
  EXPECT_GE(refuser.stop(), 2);
}

class EndedServer : public testing::ServingTest<runtime::ThreadDrivers> {
 protected:
  EndedServer() : ServingTest({}) {}
  ~EndedServer() override { stop(); }

  std::unique_ptr<client::Client> client() {
    auto made = client::Client::create({.address = address()});
    EXPECT_TRUE(made.is_ok()) << made.status().to_string();
    return std::move(*made);
  }
};

TEST_F(EndedServer, SessionDoesNotWaitForTheNext) {
  const auto holder = client();
  ASSERT_TRUE(holder->open_session("holder").is_ok());
  const auto model = holder->load({}, package_);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  server_->shutdown(0);
  EXPECT_THAT(holder->list_models().status().message(), HasSubstr("session"));
  std::vector<float> x(4);
  const auto reply =
      holder->infer(model->info.handle, {{"x", {x.data(), 16, ir::ElementType::kF32, {4}}}});
  EXPECT_EQ(reply.status().code(), Code::kUnavailable);
  EXPECT_THAT(reply.status().message(), HasSubstr("session"));
  EXPECT_THAT(holder->open_stream().status().message(), HasSubstr("session"));
}

TEST_F(EndedServer, ClientWithoutASessionMeetsTheNext) {
  const auto watcher = client();
  ASSERT_TRUE(watcher->server().is_ok());
  server_->shutdown(0);
  std::thread starter([this] {
    server::ServerOptions wanted;
    wanted.addresses = {{true, socket(), "", 0}};
    server_ = server::Server::start(service_, repository_, wanted).value();
  });
  EXPECT_TRUE(watcher->server().is_ok());
  starter.join();
}

}  // namespace
}  // namespace sluice::rpc
