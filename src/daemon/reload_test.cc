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
  EXPECT_EQ(count, 23U);
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

}  // namespace
}  // namespace sluice::daemon
