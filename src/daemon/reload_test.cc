#include "daemon/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Reload, SafeSettingsAreAppliedAndOthersNamed) {
  Settings settings;
  Settings wanted;
  wanted.log_level = 7;
  wanted.model_folders = {"/models"};
  wanted.listen = {"unix:/elsewhere"};
  wanted.tls_key = "/key";
  const SettingsChange change = take_over(wanted, settings);
  EXPECT_THAT(change.taken, ElementsAre("model_folders", "log_level"));
  EXPECT_THAT(change.left, ElementsAre("listen", "tls_key"));
  EXPECT_EQ(settings.log_level, 7);
  EXPECT_THAT(settings.model_folders, ElementsAre("/models"));
  EXPECT_THAT(settings.listen, ElementsAre("unix:/run/sluice.sock"));
  EXPECT_EQ(settings.tls_key, "");
}

TEST(Reload, EqualSettingsChangeNothing) {
  Settings settings;
  const SettingsChange change = take_over(Settings(), settings);
  EXPECT_THAT(change.taken, IsEmpty());
  EXPECT_THAT(change.left, IsEmpty());
}

TEST(Reload, EveryReloadableKeyIsASetting) {
  std::size_t count = 0;
  for (const SettingInfo& info : setting_infos()) count += is_reloadable(info.key) ? 1 : 0;
  EXPECT_EQ(count, 27U);
}

TEST(Reload, CertificatesAreReloadedButTlsStaysOnOrOff) {
  Settings settings;
  settings.tls_certificate = "/old.pem";
  settings.tls_client_ca = "/ca.pem";
  Settings wanted = settings;
  wanted.tls_certificate = "/new.pem";
  wanted.tls_client_ca = "";
  const SettingsChange change = take_over(wanted, settings);
  EXPECT_THAT(change.taken, ElementsAre("tls_certificate"));
  EXPECT_THAT(change.left, ElementsAre("tls_client_ca"));
  EXPECT_EQ(settings.tls_client_ca, "/ca.pem");
}

TEST(Reload, TracingOfClientsStaysButWhatTheFilesChange) {
  Settings before;
  before.trace_rate = 10;
  before.trace_slower_ms = 5;
  const telemetry::TraceSettings chosen = {.is_on = false, .rate = 3, .slower_than_ns = 5'000'000};
  telemetry::TraceSettings found = take_over_tracing(before, before, chosen);
  EXPECT_FALSE(found.is_on);
  EXPECT_EQ(found.rate, 3);
  EXPECT_EQ(found.slower_than_ns, 5'000'000);
  Settings after = before;
  after.trace_slower_ms = 7;
  found = take_over_tracing(before, after, chosen);
  EXPECT_FALSE(found.is_on);
  EXPECT_EQ(found.rate, 3);
  EXPECT_EQ(found.slower_than_ns, 7'000'000);
  after.trace_rate = 20;
  EXPECT_EQ(take_over_tracing(before, after, chosen).rate, 20);
}

}  // namespace
}  // namespace sluice::daemon
