// TCP: loopback without more, else TLS; clients' certificates and tokens where they are wanted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "daemon/fixture.h"

namespace sluice {
namespace {

using sluice::testing::run_program;
using sluice::testing::RunningDaemon;
using ::testing::HasSubstr;

class TcpTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void openssl(std::vector<std::string> words) const {
    words.insert(words.begin(), "/usr/bin/openssl");
    const auto result = run_program(words);
    ASSERT_EQ(result.exit_code, 0) << result.output;
  }

  /// NAME.pem and NAME.key: an authority of its own.
  void make_authority(const std::string& name) const {
    openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-days", "2", "-subj", "/CN=" + name, "-keyout", path(name + ".key"), "-out",
             path(name + ".pem")});
  }

  /// NAME.pem and NAME.key, for localhost, by an authority.
  void make_certificate(const std::string& name, const std::string& authority) const {
    std::ofstream(path("names")) << "subjectAltName=DNS:localhost\n";
    openssl({"req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-subj", "/CN=" + name, "-keyout", path(name + ".key"), "-out", path(name + ".csr")});
    openssl({"x509", "-req", "-in", path(name + ".csr"), "-CA", path(authority + ".pem"), "-CAkey",
             path(authority + ".key"), "-days", "2", "-extfile", path("names"), "-out",
             path(name + ".pem")});
  }

  std::unique_ptr<RunningDaemon> start(std::vector<std::string> flags) const {
    flags.insert(flags.end(), {"-g", "localhost:0"});
    auto daemon = RunningDaemon::start(folder_, {.flags = std::move(flags)});
    EXPECT_TRUE(daemon.is_ok()) << daemon.status().to_string();
    return daemon.is_ok() ? std::move(*daemon) : nullptr;
  }

  /// What asking for the server's state gives over TCP.
  Status ask(const RunningDaemon& daemon, rpc::ClientOptions options) const {
    const std::string output = daemon.output();
    const std::size_t at = output.find("localhost:", output.find("sluiced: listening on"));
    options.address = output.substr(at, output.find_first_not_of("0123456789", at + 10) - at);
    options.connect_timeout_ns = 2'000'000'000;
    const auto client = rpc::Client::create(options);
    if (!client.is_ok()) return client.status();
    return (*client)->server().status();
  }

  sluice::testing::TempDir folder_;
};

TEST_F(TcpTest, LoopbackNeedsNothingMoreAndOthersNeedTls) {
  const auto daemon = start({});
  ASSERT_NE(daemon, nullptr);
  EXPECT_TRUE(ask(*daemon, {}).is_ok());
  const auto open = RunningDaemon::start(
      folder_, {.flags = {"-g", "0.0.0.0:0", "--lock-folder", path("other")}, .name = "open"});
  ASSERT_FALSE(open.is_ok());
  EXPECT_THAT(open.status().message(), HasSubstr("there is no TLS certificate"));
}

TEST_F(TcpTest, ATokenIsWantedOverTcpAndNotOverTheSocket) {
  std::ofstream(path("tokens")) << "first\n\nsecond\n";
  const auto daemon = start({"--token-file", path("tokens")});
  ASSERT_NE(daemon, nullptr);
  for (const char* token : {"", "third", "first\nsecond", "firs"}) {
    const Status status = ask(*daemon, {.token = token});
    EXPECT_FALSE(status.is_ok()) << token;
  }
  EXPECT_EQ(ask(*daemon, {}).code(), Code::kUnauthenticated);
  EXPECT_TRUE(ask(*daemon, {.token = "first"}).is_ok());
  EXPECT_TRUE(ask(*daemon, {.token = "second"}).is_ok());
  EXPECT_TRUE(daemon->client()->server().is_ok());
}

TEST_F(TcpTest, TlsShowsTheDaemonsCertificateAndWantsOneOfTheClientsAuthority) {
  for (const char* authority : {"ca", "clients", "others"}) make_authority(authority);
  make_certificate("daemon", "ca");
  make_certificate("client", "clients");
  make_certificate("stranger", "others");
  const auto daemon = start({"--tls-certificate", path("daemon.pem"), "--tls-key",
                             path("daemon.key"), "--tls-client-ca", path("clients.pem")});
  ASSERT_NE(daemon, nullptr);
  const auto as = [&](const std::string& name, const std::string& ca) {
    return ask(*daemon, {.ca = path(ca + ".pem"),
                         .certificate = name.empty() ? "" : path(name + ".pem"),
                         .key = name.empty() ? "" : path(name + ".key")});
  };
  const Status good = as("client", "ca");
  EXPECT_TRUE(good.is_ok()) << good.to_string();
  EXPECT_EQ(as("", "ca").code(), Code::kUnavailable) << "no certificate";
  EXPECT_EQ(as("stranger", "ca").code(), Code::kUnavailable);
  EXPECT_EQ(as("client", "others").code(), Code::kUnavailable) << "not the daemon we trust";
  EXPECT_EQ(ask(*daemon, {}).code(), Code::kUnavailable) << "no TLS";
}

TEST_F(TcpTest, FilesThatAreNotThereAreNamed) {
  for (const char* flag : {"--token-file", "--map"}) {
    const auto daemon = RunningDaemon::start(folder_, {.flags = {flag, path("missing.txt")}});
    ASSERT_FALSE(daemon.is_ok()) << flag;
    EXPECT_THAT(daemon.status().message(), HasSubstr("missing.txt"));
  }
  const auto daemon = RunningDaemon::start(
      folder_, {.flags = {"-g", "localhost:0", "--tls-certificate", path("missing.pem"),
                          "--tls-key", path("missing.key")}});
  ASSERT_FALSE(daemon.is_ok());
  EXPECT_THAT(daemon.status().message(), HasSubstr("missing"));
}

}  // namespace
}  // namespace sluice
