#include "service/clients/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::service {
namespace {

using ::testing::HasSubstr;

/// Neither root nor this process's own user, which may do everything.
constexpr std::int64_t kAlice = 4'000'001;
constexpr std::int64_t kBob = 4'000'002;

terms::Peer user(std::int64_t id, std::int64_t group = 4'000'009,
                 std::vector<std::int64_t> more = {}) {
  terms::Peer peer = {"unix:/s", 1, id, group};
  peer.more_groups = std::move(more);
  return peer;
}

terms::Roles roles(std::string_view text) { return terms::parse_roles(text).value(); }

Access access_with(std::vector<std::string> rules) {
  return Access(parse_role_rules(rules).value());
}

TEST(Roles, AreReadAndWritten) {
  EXPECT_EQ(to_string(roles("inference,monitor")), "monitor,inference");
  EXPECT_EQ(to_string(roles("none")), "none");
  EXPECT_EQ(to_string(roles("control")), "monitor,control") << "control contains monitor";
  EXPECT_EQ(roles("control,inference"), terms::Roles::all());
  for (const char* bad :
       {"", "Inference", "inference,", "inference monitor", "all", "none,control"}) {
    EXPECT_THAT(terms::parse_roles(bad).status().message(), HasSubstr("is no role")) << bad;
  }
}

TEST(Roles, BoundTheRunsOfTheirClients) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  EXPECT_EQ(roles("inference").max_run_ns(), 0);
  EXPECT_EQ(roles("max_run=5,inference").max_run_ns(), 5 * kNsPerSecond);
  EXPECT_EQ(to_string(roles("max_run=5,inference")), "inference,max_run=5");
  for (const char* bad :
       {"max_run=5", "inference,max_run=", "inference,max_run=0", "inference,max_run=1.5",
        "inference,max_run=-1", "inference,max_run=99999999999999999999"}) {
    EXPECT_THAT(terms::parse_roles(bad).status().message(), HasSubstr("max_run=")) << bad;
  }
  // The longer limit of all rules that name the client, and none if one has none.
  const Access access =
      access_with({"user:4000001=inference,max_run=5", "group:77=monitor,max_run=9",
                   "group:78=monitor", "others=inference,max_run=1"});
  EXPECT_EQ(access.roles_of(user(kAlice)).max_run_ns(), 5 * kNsPerSecond);
  EXPECT_EQ(access.roles_of(user(kAlice, 77)).max_run_ns(), 9 * kNsPerSecond);
  EXPECT_EQ(access.roles_of(user(kAlice, 78)).max_run_ns(), 0);
  EXPECT_EQ(access.roles_of(user(kBob)).max_run_ns(), 1 * kNsPerSecond);
}

TEST(Roles, BoundThePrioritiesOfTheirClients) {
  EXPECT_EQ(roles("inference").max_priority(), terms::Roles::kAnyPriority);
  EXPECT_EQ(roles("max_priority=-5,inference").max_priority(), -5);
  EXPECT_EQ(to_string(roles("max_priority=0,inference")), "inference,max_priority=0");
  for (const char* bad : {"max_priority=5", "inference,max_priority=", "inference,max_priority=1.5",
                          "inference,max_priority=2147483648"}) {
    EXPECT_THAT(terms::parse_roles(bad).status().message(), HasSubstr("max_priority=")) << bad;
  }
  const Access access =
      access_with({"user:4000001=inference,max_priority=0", "group:77=monitor,max_priority=3",
                   "group:78=monitor", "others=inference,max_priority=-1"});
  EXPECT_EQ(access.roles_of(user(kAlice)).max_priority(), 0);
  EXPECT_EQ(access.roles_of(user(kAlice, 77)).max_priority(), 3);
  EXPECT_EQ(access.roles_of(user(kAlice, 78)).max_priority(), terms::Roles::kAnyPriority);
  EXPECT_EQ(access.roles_of(user(kBob)).max_priority(), -1);
}

TEST(RoleRules, NameUsersGroupsAndOthers) {
  EXPECT_EQ(parse_role_rule("user:root=monitor")->id, 0);
  EXPECT_EQ(parse_role_rule("user:4000001=monitor")->id, kAlice);
  EXPECT_EQ(parse_role_rule("group:4000001=none")->who, RoleRule::Who::kGroup);
  for (const char* bad :
       {"", "alice", "alice=monitor", "user:=monitor", "user:-1=monitor", "user:4294967295=monitor",
        "user:no such user=monitor", "certificate:=monitor", "certificate:\n=monitor", "remote",
        "others=everything"}) {
    EXPECT_FALSE(parse_role_rule(bad).is_ok()) << bad;
  }
}

TEST(Access, WithoutRulesEveryClientHasAllRoles) {
  EXPECT_EQ(Access().roles_of(user(kAlice)), terms::Roles::all());
  EXPECT_EQ(Access().roles_of(terms::Peer{}), terms::Roles::all());
}

TEST(Access, RulesOfAUserAndItsGroupsAddUp) {
  const Access access = access_with({"user:4000001=inference", "group:77=monitor", "others=none"});
  EXPECT_EQ(access.roles_of(user(kAlice)), roles("inference"));
  EXPECT_EQ(access.roles_of(user(kAlice, 77)), roles("inference,monitor"));
  EXPECT_EQ(access.roles_of(user(kAlice, 1, {5, 77})), roles("inference,monitor"));
  EXPECT_EQ(access.roles_of(user(kBob, 77)), roles("monitor"));
  EXPECT_EQ(access.roles_of(user(kBob)), terms::Roles());
}

TEST(Access, OthersAreThoseThatNoRuleNames) {
  const Access access = access_with({"user:4000001=none", "others=inference", "remote=monitor"});
  EXPECT_EQ(access.roles_of(user(kAlice)), terms::Roles());
  EXPECT_EQ(access.roles_of(user(kBob)), roles("inference"));
  EXPECT_EQ(access.roles_of(terms::Peer{"127.0.0.1:5"}), roles("monitor"));
  EXPECT_EQ(access_with({"user:4000001=control"}).roles_of(user(kBob)), terms::Roles())
      << "rules without others leave them nothing";
}

TEST(Access, CertificateHasTheRolesOfItsRules) {
  const Access access = access_with({"certificate:scraper=monitor", "remote=inference"});
  terms::Peer peer = {"127.0.0.1:5"};
  EXPECT_EQ(access.roles_of(peer), roles("inference"));
  peer.certificate = "scraper2";
  EXPECT_EQ(access.roles_of(peer), roles("inference"));
  peer.certificate = "scraper";
  EXPECT_EQ(access.roles_of(peer), roles("inference,monitor"));
}

TEST(Access, TokenHasItsOwnRoles) {
  const Access access = access_with({"remote=control"});
  terms::Peer peer = {"127.0.0.1:5"};
  peer.token = "scraper";
  peer.token_roles = roles("monitor");
  EXPECT_EQ(access.roles_of(peer), roles("monitor"));
  EXPECT_EQ(account_of(peer), "token scraper");
}

TEST(Access, AdministratorsHaveAllRoles) {
  const Access access = access_with({"others=none"});
  EXPECT_EQ(access.roles_of(user(0)), terms::Roles::all());
  EXPECT_EQ(access.roles_of(user(geteuid())), terms::Roles::all());
}

TEST(Access, RefusalNamesTheRoleAndTheAccount) {
  const Access access = access_with({"others=monitor"});
  EXPECT_TRUE(access.check(user(kAlice), terms::Role::kMonitor).is_ok());
  EXPECT_TRUE(access.check(user(kAlice), terms::Role::kAny).is_ok());
  const Status status = access.check(user(kAlice), terms::Role::kControl);
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_THAT(status.message(), HasSubstr("needs the role control; user 4000001 has monitor"));
  EXPECT_THAT(access_with({"others=none"}).check(user(kAlice), terms::Role::kAny).message(),
              HasSubstr("needs a role; user 4000001 has none"));
}

TEST(Access, TensorsOfTheExchangeAreFetchedByNamedPeersAlone) {
  Access access;
  terms::Peer by_certificate{"ipv4:10.0.0.1:1"};
  by_certificate.certificate = "host-b";
  terms::Peer by_token{"ipv4:10.0.0.2:1"};
  by_token.token = "host-c";
  by_token.token_roles = terms::Roles::all();
  const terms::Peer root{"unix:/s", 1, 0, 0};
  for (const terms::Peer& peer : {by_certificate, by_token, root}) {
    EXPECT_EQ(access.check(peer, terms::Role::kFetch).code(), Code::kPermissionDenied);
  }
  const std::vector<std::string> texts = {"certificate:host-b", "token:host-c"};
  access.set_exchange_peers(parse_exchange_peers(texts).value());
  EXPECT_TRUE(access.check(by_certificate, terms::Role::kFetch).is_ok());
  EXPECT_TRUE(access.check(by_token, terms::Role::kFetch).is_ok());
  EXPECT_FALSE(access.check(root, terms::Role::kFetch).is_ok());
  by_token.token = "host-b";  // a token is no certificate
  EXPECT_FALSE(access.check(by_token, terms::Role::kFetch).is_ok());
  for (const std::string bad : {"host-b", "certificate:", "token:\n", "user:root"}) {
    EXPECT_FALSE(parse_exchange_peers(std::vector<std::string>{bad}).is_ok()) << bad;
  }
}

}  // namespace
}  // namespace sluice::service
