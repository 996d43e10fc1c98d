#include "daemon/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::daemon {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Settings, FileSettingsKeepTheirOrigin) {
  Settings settings;
  Origins origins;
  const Status status = apply_config(
      R"({"devices": ["1c:00.0", "2"], "log_level": 6, "log_console": true, "map": "m.json"})",
      settings, origins);
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_THAT(settings.devices, ElementsAre("1c:00.0", "2"));
  EXPECT_EQ(settings.log_level, 6);
  EXPECT_TRUE(settings.log_console);
  EXPECT_EQ(settings.map, "m.json");
  const json printed = json::parse(print_settings(settings, origins));
  EXPECT_EQ(printed["log_level"], json({{"value", 6}, {"origin", "file"}}));
  EXPECT_EQ(printed["drain_seconds"], json({{"value", 30}, {"origin", "default"}}));
  EXPECT_EQ(printed.size(), setting_infos().size());
}

TEST(Settings, FileErrorsNameTheSettingAndTheExpectedValue) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not JSON"},
      {"[]", "expected an object of settings, found a array"},
      {R"({"colour": 1})", "colour: no such setting; there are devices, map"},
      {R"({"log_level": "6"})", "log_level: expected a whole number, found a string"},
      {R"({"log_level": 8})", "log_level: 8 is not between 3 and 7"},
      {R"({"log_level": 5.5})", "log_level: expected a whole number"},
      {R"({"log_level": 99999999999999999999})", "log_level"},
      {R"({"log_console": 1})", "log_console: expected true or false"},
      {R"({"devices": "1c:00.0"})", "devices: expected a list"},
      {R"({"devices": [1]})", "devices[0]: expected a text"},
      {R"({"map": null})", "map: expected a text"},
      {R"({"max_upload_bytes": -1})", "max_upload_bytes: -1 is not between 0"},
  };
  for (const auto& [text, says] : cases) {
    Settings settings;
    Origins origins;
    const Status status = apply_config(text, settings, origins);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(status.message(), HasSubstr(says)) << text;
  }
}

TEST(Settings, ValuesThatDoNotGoTogetherAreRefused) {
  const auto refusal = [](auto set) {
    Settings settings;
    set(settings);
    const Status status = check_settings(settings);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return status.message();
  };
  EXPECT_TRUE(check_settings({}).is_ok());
  EXPECT_THAT(refusal([](auto& s) { s.socket_mode = "rw"; }), HasSubstr("socket_mode"));
  EXPECT_THAT(refusal([](auto& s) { s.socket_mode = "0999"; }), HasSubstr("socket_mode"));
  EXPECT_THAT(refusal([](auto& s) { s.listen = {}; }), HasSubstr("nowhere"));
  EXPECT_THAT(refusal([](auto& s) { s.listen = {"nothing"}; }), HasSubstr("listen"));
  EXPECT_THAT(refusal([](auto& s) { s.tls_key = "k"; }), HasSubstr("tls_certificate"));
  EXPECT_THAT(refusal([](auto& s) { s.tls_client_ca = "c"; }), HasSubstr("tls_client_ca"));
  EXPECT_THAT(refusal([](auto& s) { s.roles = {"others=all"}; }), HasSubstr("no role"));
  EXPECT_THAT(refusal([](auto& s) { s.roles = {"alice"}; }), HasSubstr("roles"));
  EXPECT_THAT(refusal([](auto& s) { s.metrics = "9100"; }), HasSubstr("metrics"));
  EXPECT_THAT(refusal([](auto& s) { s.metrics = "0.0.0.0:9100"; }),
              HasSubstr("no TLS certificate"));
  EXPECT_THAT(refusal([](auto& s) { s.http = "0.0.0.0:8000"; }), HasSubstr("http: 0.0.0.0:8000"));
  EXPECT_THAT(refusal([](auto& s) { s.transfer_policy = "fifo"; }), HasSubstr("round-robin"));
  EXPECT_THAT(refusal([](auto& s) { s.kv_cache = "f64"; }), HasSubstr("expected f32, f16 or int8"));
  EXPECT_THAT(refusal([](auto& s) { s.weights = "i8"; }), HasSubstr("expected f32, bf16 or int8"));
  EXPECT_THAT(refusal([](auto& s) { s.model_folders = {"models"}; }), HasSubstr("absolute"));
}

TEST(Settings, SchemaHasEverySettingAndNoOther) {
  const json schema = json::parse(print_schema());
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"].size(), setting_infos().size());
  EXPECT_EQ(schema["properties"]["log_level"]["maximum"], 7);
  EXPECT_EQ(schema["properties"]["listen"]["default"], json({"unix:/run/sluice.sock"}));
}

TEST(Settings, NothingOfTheExchangeGoesUnprotectedWithoutConsent) {
  const auto refusal = [](const Settings& settings) {
    const Status status = check_settings(settings);
    return status.is_ok() ? std::string() : status.message();
  };
  Settings settings;
  settings.exchange_listen = "10.0.0.1:5556";
  EXPECT_THAT(refusal(settings), HasSubstr("without exchange_peers"));
  settings.exchange_peers = {"token:host-b"};
  EXPECT_THAT(refusal(settings), HasSubstr("exchange_plain"));
  settings.exchange_plain = true;
  EXPECT_THAT(refusal(settings), HasSubstr("needs token_file"));
  settings.token_file = "/tokens";
  EXPECT_EQ(refusal(settings), "");
  settings.exchange_ca = "/ca.pem";
  EXPECT_THAT(refusal(settings), HasSubstr("either exchange_ca"));
  settings.exchange_plain = false;
  EXPECT_THAT(refusal(settings), HasSubstr("tls_certificate"));
  settings.tls_certificate = settings.tls_key = "/one.pem";
  settings.exchange_peers = {"certificate:host-b"};
  EXPECT_EQ(refusal(settings), "");
  settings.exchange_listen = "unix:/s";
  EXPECT_THAT(refusal(settings), HasSubstr("this machine only"));
  settings.exchange_listen = "";
  settings.exchange_sources = {"nowhere"};
  EXPECT_THAT(refusal(settings), HasSubstr("exchange_sources"));
}

TEST(Settings, DoorsWithoutTlsNeedConsentBeyondThisMachine) {
  Settings settings;
  settings.http = "0.0.0.0:8000";
  const Status refused = check_settings(settings);
  EXPECT_THAT(refused.message(), HasSubstr("listen_plain"));
  settings.listen_plain = true;
  settings.metrics = "[::]:9464";
  EXPECT_TRUE(check_settings(settings).is_ok()) << check_settings(settings).to_string();
  settings.listen_plain = false;
  settings.tls_certificate = settings.tls_key = "/one.pem";
  EXPECT_TRUE(check_settings(settings).is_ok()) << check_settings(settings).to_string();
}

TEST(Settings, AgentCheckIsATcpAddress) {
  Settings settings;
  settings.agent_check = "0.0.0.0:8003";
  EXPECT_TRUE(check_settings(settings).is_ok()) << check_settings(settings).to_string();
  for (const char* wrong : {"unix:/run/agent", "8003", "host:port"}) {
    settings.agent_check = wrong;
    EXPECT_THAT(check_settings(settings).to_string(), HasSubstr("agent_check")) << wrong;
  }
}

}  // namespace
}  // namespace sluice::daemon
