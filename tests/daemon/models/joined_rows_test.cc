// Models of a daemon that join the waiting requests of different clients.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <thread>

#include "daemon/on_processors.h"
#include "terms/runtime_code.h"

namespace sluice::testing {
namespace {

using ::testing::HasSubstr;

/// y = x + table[i]: an index outside the table fails the run.
constexpr std::string_view kGraph = R"(
subgraph @0 "main" {
  input %x : f32[N,8]
  input %i : i64[N]
  const %t : f32[3,1] = [10.0, 20.0, 30.0]
  [%g : f32[N,1]] = Gather.13[%t, %i] {axis = 0}
  [%y : f32[N,8]] = Add.14[%x, %g]
  output [%y]
}
)";

enum class Poison : std::uint8_t { kNone, kNan, kIndex, kCancel, kDeadline };

/// A request, until its answer.
struct Asked {
  Poison poison = Poison::kNone;
  std::vector<float> x;
  std::vector<std::int64_t> i;

  std::vector<terms::NamedTensor> inputs() {
    const auto rows = static_cast<std::int64_t>(i.size());
    return {{"x", {x.data(), rows * 32, ir::ElementType::kF32, {rows, 8}}},
            {"i", {i.data(), rows * 8, ir::ElementType::kI64, {rows}}}};
  }
  bool is_value(const rpc::client::InferReply& reply) const {
    const terms::TensorView& y = reply.outputs.at(0).view;
    if (reply.code != RuntimeCode::kOk || y.size_bytes != std::ssize(x) * 4) return false;
    const auto* data = static_cast<const float*>(y.data);
    for (std::size_t at = 0; at < x.size(); ++at) {
      if (data[at] != x[at] + 10.0F * static_cast<float>(i[at / 8] + 1)) return false;
    }
    return true;
  }
  bool is_right(const Result<rpc::client::InferReply>& reply) const {
    const auto code = terms::runtime_code_of(reply.status());
    switch (poison) {
      case Poison::kNone: return reply.is_ok() && is_value(*reply);
      case Poison::kNan: return reply.is_ok() && reply->code == RuntimeCode::kNumericError;
      case Poison::kIndex: return code == RuntimeCode::kBadInput;
      case Poison::kCancel:
        return reply.is_ok() ? is_value(*reply) : code == RuntimeCode::kCancelled;
      case Poison::kDeadline: break;
    }
    return reply.is_ok() ? is_value(*reply) : code == RuntimeCode::kTimeout;
  }
};

Asked draw(std::mt19937& random, float tenant) {
  Asked asked;
  if (random() % 3 == 0) asked.poison = static_cast<Poison>(random() % 5);
  asked.i.resize(1 + random() % 3);
  for (std::int64_t& index : asked.i) index = static_cast<std::int64_t>(random() % 3);
  asked.x.resize(asked.i.size() * 8);
  for (float& value : asked.x) value = tenant + static_cast<float>(random() % 1000);
  if (asked.poison == Poison::kNan) asked.x[3] = std::numeric_limits<float>::quiet_NaN();
  if (asked.poison == Poison::kIndex) asked.i.back() = 99;
  return asked;
}

/// Sends `count` requests, up to 24 of them in flight; the number with a wrong answer.
int ask(rpc::client::Client& client, std::uint64_t model, unsigned tenant, int count) {
  std::mt19937 random(tenant);
  const auto stream = client.open_stream();
  if (!stream.is_ok()) return count;
  std::map<std::uint64_t, Asked> in_flight;
  int num_wrong = 0;
  for (std::uint64_t id = 1; id <= static_cast<std::uint64_t>(count) || !in_flight.empty(); ++id) {
    if (id <= static_cast<std::uint64_t>(count)) {
      Asked& asked = in_flight[id] = draw(random, static_cast<float>(tenant * 10'000));
      rpc::client::InferOptions options;
      if (asked.poison == Poison::kDeadline) options.timeout_ns = 300'000;
      if (!(*stream)->send(id, model, asked.inputs(), options).is_ok()) return count;
      if (asked.poison == Poison::kCancel && !(*stream)->cancel(id).is_ok()) return count;
      if (in_flight.size() < 24) continue;
    }
    const auto answer = (*stream)->next();
    if (!answer.is_ok() || !*answer) return count;
    const auto asked = in_flight.find((*answer)->id);
    if (asked == in_flight.end() || !asked->second.is_right((*answer)->reply)) ++num_wrong;
    if (asked != in_flight.end()) in_flight.erase(asked);
  }
  return num_wrong;
}

class JoinedRows : public OnProcessors, public ::testing::WithParamInterface<terms::Isolation> {};

INSTANTIATE_TEST_SUITE_P(Isolations, JoinedRows,
                         ::testing::Values(terms::Isolation::kStream, terms::Isolation::kProcess),
                         [](const auto& isolation) {
                           return std::string(
                               isolation.param == terms::Isolation::kStream ? "Stream" : "Process");
                         });

TEST_P(JoinedRows, PoisonOfOneTenantReachesNoOther) {
  const auto daemon = start("a");
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  terms::LoadOptions options;
  options.isolation = GetParam();
  options.nan_policy = terms::NanPolicy::kFlag;
  options.batching = terms::BatchOptions{16, 2'000'000};
  const auto model = client->load(options, write("rows", kGraph));
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  std::atomic<int> num_wrong = 0;
  std::vector<std::thread> tenants;
  for (unsigned tenant = 1; tenant <= 3; ++tenant) {
    tenants.emplace_back([&, tenant] {
      const auto own = daemon->client(fmt::format("tenant {}", tenant));
      num_wrong += ask(*own, model->info.handle, tenant, 500);
    });
  }
  for (std::thread& tenant : tenants) tenant.join();
  EXPECT_EQ(num_wrong, 0);
  const auto statistics = client->statistics(model->info.handle);
  ASSERT_TRUE(statistics.is_ok()) << statistics.status().to_string();
  EXPECT_GT(statistics->at(0).joined, 100);
}

TEST_P(JoinedRows, ModelWithFixedRowsTakesAnyNumber) {
  const auto daemon = start("a");
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  terms::LoadOptions options;
  options.isolation = GetParam();
  options.batching = terms::BatchOptions{0, 0};
  const auto model = client->load(options, write("fixed", R"(
subgraph @0 "main" {
  input %x : f32[4,2]
  [%y : f32[4,2]] = Relu.14[%x]
  output [%y]
}
)"));
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  EXPECT_EQ(model->signature.inputs.at(0).type.to_string(), "f32[batch,2]");
  for (const std::int64_t rows : {1, 3, 4, 5, 11}) {
    std::vector<float> x(static_cast<std::size_t>(rows) * 2, static_cast<float>(rows));
    const terms::TensorView view = {x.data(), rows * 8, ir::ElementType::kF32, {rows, 2}};
    const auto reply = client->infer(model->info.handle, {{"x", view}});
    ASSERT_TRUE(reply.is_ok()) << reply.status().to_string();
    const terms::TensorView& y = reply->outputs.at(0).view;
    ASSERT_EQ(y.size_bytes, rows * 8);
    EXPECT_EQ(std::vector<float>(static_cast<const float*>(y.data),
                                 static_cast<const float*>(y.data) + rows * 2),
              x);
  }
}

TEST_P(JoinedRows, ModelWhoseRowsCannotBeJoinedIsRefused) {
  const auto daemon = start("a");
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  terms::LoadOptions options;
  options.isolation = GetParam();
  options.batching = terms::BatchOptions{16, 0};
  const auto refused = client->load(options, small_).status();
  EXPECT_EQ(terms::runtime_code_of(refused), RuntimeCode::kInvalid);
  EXPECT_THAT(refused.message(), HasSubstr("was compiled for 4 rows"));
  EXPECT_TRUE(client->list_models()->empty()) << "nothing stays behind";
  options.batching = terms::BatchOptions{65'537, 0};
  EXPECT_THAT(client->load(options, small_).status().message(), HasSubstr("batch_rows"));
}

}  // namespace
}  // namespace sluice::testing
