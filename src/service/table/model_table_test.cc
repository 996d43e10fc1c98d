#include "service/table/model_table.h"

#include <gmock/gmock.h>

#include "dispatch/testing/keeping_sink.h"

namespace sluice::service {
namespace {

using terms::ModelHandle;
using terms::SessionId;
using ::testing::ElementsAre;

constexpr SessionId kSession{7};

class ModelTableTest : public ::testing::Test {
 protected:
  void add(std::uint64_t handle, std::int64_t version, SessionId owner = terms::kNobody) {
    ServedModel served;
    served.name = "m";
    served.version = version;
    served.owner = owner;
    table_.add(ModelHandle{handle}, std::move(served));
  }
  /// 0: none.
  std::uint64_t find(std::optional<std::int64_t> version = {},
                     SessionId session = terms::kNobody) const {
    const auto found = table_.find("m", {version}, session);
    return found.is_ok() ? static_cast<std::uint64_t>(found->handle) : 0;
  }

  ModelTable table_;
};

TEST_F(ModelTableTest, HighestVersionAnswersWithoutOne) {
  EXPECT_EQ(find(), 0U);
  add(1, 2);
  add(2, 10);
  add(3, 3);
  EXPECT_EQ(find(), 2U);
  EXPECT_EQ(find(3), 3U);
  EXPECT_EQ(find(4), 0U);
  EXPECT_THAT(table_.versions("m", terms::kNobody), ElementsAre(2, 3, 10));
}

TEST_F(ModelTableTest, ErrorSaysWhyANameIsNotThere) {
  const auto error = [&] {
    return table_.find("m", {std::nullopt}, terms::kNobody).status().message();
  };
  EXPECT_EQ(error(), "Request for unknown model: 'm' is not found");
  table_.set_absence("m", "its last load failed: no file");
  EXPECT_EQ(error(), "Request for unknown model: 'm' is not found; its last load failed: no file");
  EXPECT_EQ(table_.find("m", {9}, terms::kNobody).status().message(),
            "Request for unknown model: 'm' version 9 is not found; its last load failed: no file");
  table_.set_absence("m", "");
  EXPECT_EQ(error(), "Request for unknown model: 'm' is not found");
}

TEST_F(ModelTableTest, LastLoadedOfAVersionAnswers) {
  add(1, 1);
  add(2, 1);
  EXPECT_EQ(find(), 2U);
  EXPECT_EQ(find(1), 2U);
  EXPECT_TRUE(table_.remove(ModelHandle{2}));
  EXPECT_EQ(find(), 1U);
}

TEST_F(ModelTableTest, ModelsOfSessionsAreTheirs) {
  add(1, 1);
  add(2, 5, kSession);
  EXPECT_EQ(find(), 1U);
  EXPECT_EQ(find({}, kSession), 2U);
  EXPECT_THAT(table_.versions("m", terms::kNobody), ElementsAre(1));
  EXPECT_THAT(table_.versions("m", kSession), ElementsAre(1, 5));
}

TEST_F(ModelTableTest, ModelWithoutANameIsFoundByItsHandle) {
  add(1, 1);
  add(2, 2);
  table_.remove_name(ModelHandle{2});
  EXPECT_EQ(find(), 1U);
  EXPECT_TRUE(table_.find(ModelHandle{2}).is_ok());
  EXPECT_TRUE(table_.remove(ModelHandle{2}));
  EXPECT_FALSE(table_.remove(ModelHandle{2}));
  table_.remove_name(ModelHandle{2});
  EXPECT_EQ(find(), 1U);
}

TEST_F(ModelTableTest, LabelsStandForVersions) {
  add(1, 1);
  add(2, 2);
  const auto labelled = [&](std::string_view label) -> std::uint64_t {
    const auto found = table_.find("m", {{}, label}, terms::kNobody);
    return found.is_ok() ? static_cast<std::uint64_t>(found->handle) : 0;
  };
  EXPECT_EQ(labelled("stable"), 0U);
  table_.set_traffic("m", {{{"stable", 1}, {"next", 3}}, {}, {}});
  EXPECT_EQ(labelled("stable"), 1U);
  EXPECT_EQ(labelled("next"), 0U) << "the version is not there";
  table_.set_traffic("m", {{{"stable", 2}}, {}, {}});
  EXPECT_EQ(labelled("stable"), 2U);
  EXPECT_EQ(labelled("next"), 0U);
  table_.set_traffic("m", {});
  EXPECT_EQ(labelled("stable"), 0U);
}

TEST_F(ModelTableTest, RequestsWithoutAVersionAreShared) {
  add(1, 1);
  add(2, 2);
  table_.set_traffic("m", {{}, {{1, 3}, {2, 1}}, {}});
  const auto next = [&](SessionId session = terms::kNobody, dispatch::VersionChoice choice = {}) {
    return static_cast<std::uint64_t>(table_.find_for_request("m", choice, session)->handle);
  };
  int num_old = 0;
  for (int i = 0; i < 400; ++i) num_old += next() == 1 ? 1 : 0;
  EXPECT_NEAR(num_old, 300, 10);
  EXPECT_EQ(find(), 2U) << "whoever sends no request sees the highest version";
  for (int i = 0; i < 10; ++i) EXPECT_EQ(next(terms::kNobody, {2}), 2U);
  table_.remove(ModelHandle{1});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(next(), 2U);
}

/// An earlier model of the shadow's version may be there still, or again.
TEST_F(ModelTableTest, ShadowOfAVersionIsTheOneThatIsStillThere) {
  const auto add_ref = [&](std::uint64_t handle, std::int64_t version) {
    ServedModel served;
    served.name = "m";
    served.version = version;
    served.ref = std::make_shared<dispatch::ModelRef>(
        std::make_shared<dispatch::testing::KeepingSink>(), std::vector<bool>{}, false, version);
    table_.add(ModelHandle{handle}, served);
    return served.ref;
  };
  const auto first = add_ref(1, 1);
  const auto model = add_ref(2, 2);
  table_.set_traffic("m", {{}, {}, 1});
  EXPECT_EQ(model->shadow(), first);
  const auto second = add_ref(3, 1);
  EXPECT_EQ(model->shadow(), second);
  EXPECT_TRUE(table_.remove(ModelHandle{3}));
  EXPECT_EQ(model->shadow(), first);
  const auto third = add_ref(4, 1);
  EXPECT_EQ(model->shadow(), third);
  table_.remove_name(ModelHandle{4});
  EXPECT_EQ(model->shadow(), first) << "the other one drains";
  EXPECT_TRUE(table_.remove(ModelHandle{1}));
  EXPECT_EQ(model->shadow(), nullptr);
}

}  // namespace
}  // namespace sluice::service
