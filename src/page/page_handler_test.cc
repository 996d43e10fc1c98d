#include "page/page_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "page/asset.h"
#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_testing.h"
#include "support/eventually.h"

namespace sluice::page {
namespace {

using nlohmann::json;
using sluice::testing::eventually;
using terms::Role;
using ::testing::HasSubstr;

/// A service of four cores with one model. Clients have the roles of `roles_`.
class PageHandlerTest : public ::testing::Test {
 protected:
  PageHandlerTest() {
    service::OwnModel own;
    own.options.name = "net";
    own.executable = runtime::testing::add_relu();
    EXPECT_TRUE(service_.load_own(own).is_ok());
  }

  http::Reply ask(const std::string& path, const std::string& method = "GET",
                  const std::string& tag = "") {
    http::Request request;
    request.method = method;
    request.path = path;
    request.if_none_match = tag;
    request.body = std::make_shared<http::Body>();
    std::optional<http::Reply> reply;
    cancel_ = handler_.handle(request, [&](http::Reply one) { reply = std::move(one); });
    EXPECT_TRUE(reply.has_value());
    return reply.value_or(http::Reply());
  }
  static std::string body_of(const http::Reply& reply) {
    std::string all = reply.text;
    for (const std::string_view part : reply.parts) all += part;
    return all;
  }
  static service::ServiceOptions options() {
    service::ServiceOptions options;
    options.roles = *service::parse_role_rules(std::vector<std::string>{"others=none"});
    return options;
  }

  http::Cancel cancel_;  ///< of the last request
  service::NoLog log_;
  runtime::ThreadDrivers drivers_;
  topology::DeviceMap map_ = runtime::testing::pretended_cpu_map(4);
  runtime::testing::TestEngine engine_{runtime::testing::registry(), drivers_, {map_}};
  service::Service service_{engine_, map_, options(), log_};
  std::atomic<const char*> roles_ = "inference,control,monitor";  ///< of the clients
  service::CallThreads threads_{2, 8, log_};
  PageHandler handler_{service_, threads_, [this](const http::Request& /*request*/, Role role) {
                         terms::Peer peer;
                         peer.token = "a";
                         peer.token_roles = *terms::parse_roles(roles_.load());
                         return service_.caller_of(role, {}, peer);
                       }};
};

TEST_F(PageHandlerTest, PathsAreTheRootAndWhatLiesBelowPage) {
  EXPECT_TRUE(PageHandler::takes("/"));
  EXPECT_TRUE(PageHandler::takes("/page/app.js"));
  EXPECT_FALSE(PageHandler::takes("/page"));
  EXPECT_FALSE(PageHandler::takes("/v2"));
  EXPECT_FALSE(PageHandler::takes("/pages/x"));
}

TEST_F(PageHandlerTest, FilesAreServedWithoutARole) {
  roles_ = "none";
  const http::Reply page = ask("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.type, "text/html; charset=utf-8");
  EXPECT_THAT(body_of(page), HasSubstr("<title>Sluice"));
  EXPECT_EQ(ask("/page/app.js").type, "text/javascript; charset=utf-8");
  EXPECT_EQ(ask("/page/app.js", "GET", std::string(find_asset("app.js")->etag)).status, 304);
}

TEST_F(PageHandlerTest, OtherFilesAndMethodsAreRefused) {
  EXPECT_EQ(ask("/page/none.js").status, 404);
  EXPECT_EQ(ask("/page/").status, 404);
  EXPECT_EQ(ask("/page/../etc/passwd").status, 404);
  EXPECT_EQ(ask("/page/state/").status, 404);
  const http::Reply put = ask("/", "PUT");
  EXPECT_EQ(put.status, 405);
  EXPECT_EQ(put.allow, "GET, HEAD");
}

TEST_F(PageHandlerTest, StateNeedsMonitor) {
  roles_ = "inference";
  const http::Reply refused = ask("/page/state");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text, HasSubstr("monitor"));
  roles_ = "monitor";
  EXPECT_EQ(ask("/page/state").status, 200);
}

TEST_F(PageHandlerTest, StateHasDevicesGroupsAndModels) {
  const json state = json::parse(body_of(ask("/page/state")));
  EXPECT_EQ(state["state"], "ready");
  ASSERT_EQ(state["devices"].size(), 1U);
  EXPECT_EQ(state["devices"][0]["num_cores"], 4);
  ASSERT_EQ(state["models"].size(), 1U);
  const json& model = state["models"][0];
  EXPECT_EQ(model["name"], "net");
  EXPECT_EQ(model["health"], "healthy");
  ASSERT_EQ(state["groups"].size(), 1U);
  EXPECT_EQ(state["groups"][0]["group"], model["group"]);
  EXPECT_EQ(state["groups"][0]["cores"][0]["device"], 0);
}

TEST_F(PageHandlerTest, ManyViewersCostOneSnapshotASecond) {
  const http::Reply first = ask("/page/state");
  const http::Reply second = ask("/page/state");
  // The same text in memory, unless the machine stood still for a second in between.
  const auto time_s = [](const http::Reply& reply) {
    return json::parse(body_of(reply))["time_s"];
  };
  EXPECT_EQ(first.owner == second.owner, time_s(first) == time_s(second));
}

TEST_F(PageHandlerTest, EventsComeAtOnceAndAgain) {
  const http::Reply reply = ask("/page/events");
  EXPECT_EQ(reply.type, http::kEvents);
  ASSERT_NE(reply.stream, nullptr);
  const std::string first = reply.stream->take();
  EXPECT_TRUE(first.starts_with("data: {"));
  EXPECT_TRUE(first.ends_with("}\n\n"));
  EXPECT_EQ(json::parse(first.substr(6))["models"][0]["name"], "net");
  EXPECT_TRUE(eventually([&] { return !reply.stream->take().empty(); }));
  EXPECT_FALSE(reply.stream->is_over());
  handler_.close();
  reply.stream->take();
  EXPECT_TRUE(reply.stream->is_over());
}

TEST_F(PageHandlerTest, ClientThatDoesNotReadKeepsNoMoreThanAStreamMay) {
  for (int i = 0; i < 200; ++i) {  // a long text
    service::OwnModel own;
    own.options.name = std::string(200, 'n') + std::to_string(i);
    own.executable = runtime::testing::add_relu();
    ASSERT_TRUE(service_.load_own(own).is_ok());
  }
  const http::Reply slow = ask("/page/events");
  const http::Reply quick = ask("/page/events");
  int num_texts = 0;
  EXPECT_TRUE(eventually([&] {
    if (!quick.stream->take().empty()) ++num_texts;
    return num_texts >= 4;
  }));
  const std::string kept = slow.stream->take();
  EXPECT_EQ(kept.find("data: "), kept.rfind("data: ")) << "one text, longer than what may wait";
  EXPECT_TRUE(eventually([&] { return !slow.stream->take().empty(); })) << "then it goes on";
}

TEST_F(PageHandlerTest, EventsEndWithTheRole) {
  const http::Reply reply = ask("/page/events");
  roles_ = "inference";
  EXPECT_TRUE(eventually([&] {
    reply.stream->take();
    return reply.stream->is_over();
  }));
  EXPECT_EQ(ask("/page/events").status, 403);
}

TEST_F(PageHandlerTest, ViewersAreBoundedAndLeaveRoom) {
  ask("/page/events");
  const http::Cancel leave = cancel_;
  for (std::size_t i = 1; i < StateFeed::kMaxViewers; ++i) ask("/page/events");
  EXPECT_EQ(ask("/page/events").status, 503);
  leave();
  EXPECT_EQ(ask("/page/events").status, 200);
}

/// The path of a call about the model.
class ModelCallsTest : public PageHandlerTest {
 protected:
  std::string path(const std::string& what) const {
    return "/page/models/" + std::to_string(service_.list_models(0)->at(0).info.handle) + what;
  }
  /// Records while requests run, until a recording of two seconds has caught one: on a slow machine
  /// some catch none.
  json profile_of(const std::string& path) {
    const auto model = terms::ModelHandle{service_.list_models(0)->at(0).info.handle};
    std::jthread client([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) engine_.infer(model, runtime::testing::request_of(1));
    });
    json profile;
    EXPECT_TRUE(eventually([&] {
      const http::Reply reply = wait_for(path);
      EXPECT_EQ(reply.status, 200) << reply.text;
      if (reply.status != 200) return true;
      profile = json::parse(reply.text);
      return profile["num_requests"] > 0;
    }));
    return profile;
  }
  http::Reply wait_for(const std::string& path) {
    http::Request request;
    request.method = "POST";
    request.path = path;
    request.body = std::make_shared<http::Body>();
    std::mutex mutex;
    std::optional<http::Reply> reply;
    handler_.handle(request, [&](http::Reply one) {
      const std::lock_guard lock(mutex);
      reply = std::move(one);
    });
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex);
      return reply.has_value();
    }));
    return reply.value_or(http::Reply());
  }
};

TEST_F(ModelCallsTest, GraphHasOperationsAndWhatTheyRead) {
  const json graph = json::parse(body_of(ask(path("/graph"))));
  ASSERT_GE(graph["num_operations"], 1);
  const json& operations = graph["operations"];
  ASSERT_EQ(operations.size(), graph["num_operations"]);
  EXPECT_EQ(operations[0]["kind"], "Add");
  EXPECT_EQ(operations[0]["backend"], "cpu");
  EXPECT_EQ(operations[0]["inputs"].size(), 0U) << "an input and a constant";
  EXPECT_EQ(operations[1]["kind"], "Relu");
  EXPECT_EQ(operations[1]["inputs"], json::array({0}));
}

TEST_F(ModelCallsTest, ProfileTimesTheOperationsOfItsRequests) {
  const json profile = profile_of(path("/profile"));
  ASSERT_GE(profile["operations"].size(), 1U) << profile;
  EXPECT_GT(profile["operations"][0]["count"], 0);
  EXPECT_GT(profile["operations"][0]["sum_ns"], 0);
  EXPECT_FALSE(profile["timeline"]["spans"].empty());
}

TEST_F(ModelCallsTest, WholeDaemonHasATimeline) {
  const json timeline = profile_of("/page/profile")["timeline"];
  EXPECT_GT(timeline["num_spans"], 0);
  EXPECT_EQ(timeline["tracks"][0]["model"], "net");
  EXPECT_EQ(ask("/page/profile").allow, "POST");
  roles_ = "inference";
  EXPECT_EQ(wait_for("/page/profile").status, 403);
}

TEST_F(ModelCallsTest, ProfileEndsWithTheHandler) {
  std::thread closer([this] { handler_.close(); });
  wait_for(path("/profile"));
  closer.join();
  EXPECT_EQ(wait_for(path("/profile")).status, 503);
}

TEST_F(ModelCallsTest, CallsNeedTheirRoles) {
  roles_ = "monitor";
  EXPECT_EQ(ask(path("/graph")).status, 403);
  roles_ = "inference";
  EXPECT_EQ(ask(path("/graph")).status, 200);
  EXPECT_EQ(wait_for(path("/profile")).status, 403);
}

TEST_F(ModelCallsTest, OtherModelsPathsAndMethodsAreRefused) {
  for (const char* wrong : {"/page/models/", "/page/models/x/graph", "/page/models/-1/graph",
                            "/page/models/99999999999999999999/graph", "/page/models/1x/graph"}) {
    EXPECT_EQ(ask(wrong).status, 404) << wrong;
  }
  EXPECT_EQ(ask("/page/models/1/graph").status, 404);
  EXPECT_EQ(ask(path("/graph/")).status, 404);
  EXPECT_EQ(ask(path("/graph"), "POST").allow, "GET, HEAD");
  EXPECT_EQ(ask(path("/profile")).allow, "POST");
}

TEST_F(PageHandlerTest, HeadOfTheEventsMakesNoViewer) {
  EXPECT_EQ(ask("/page/events", "HEAD").stream, nullptr);
}

}  // namespace
}  // namespace sluice::page
