#include "service/replies/replying_model.h"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sandbox/exchange.h"
#include "terms/runtime_code.h"

namespace sluice::service {
namespace {

using terms::OutputTensor;
using terms::TensorView;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// y = x + the number of its runs. Answers at once, or refuses.
class Counter final : public runtime::RequestSink {
 public:
  const terms::Signature& signature() const override { return signature_; }
  int depth() const override { return 3; }
  Clock& clock() const override { return system_clock(); }
  Result<std::uint64_t> submit(runtime::Request& request) override {
    if (!refusal.is_ok()) return refusal;
    if (has_no_memory) throw std::bad_alloc();
    ++num_runs;
    auto y = std::make_shared<float>(*static_cast<const float*>(request.inputs.at(0).data) +
                                     static_cast<float>(num_runs));
    runtime::Reply reply;
    if (!failure.is_ok()) {
      reply = runtime::failed_reply(failure);
    } else {
      reply.outputs = {{{y.get(), sizeof(float), ir::ElementType::kF32, {1}}, y}};
    }
    reply.code = failure.is_ok() ? code : reply.code;
    std::exchange(request.on_done, nullptr)(std::move(reply));
    return 7;
  }
  void refused(const runtime::Request& /*request*/) override { ++num_refused; }
  bool cancel(std::uint64_t id) override { return id == 7; }
  bool wait(const std::function<bool()>& is_done, std::int64_t /*deadline_ns*/) override {
    return is_done();
  }
  void tell_waiters() override { ++num_told; }
  bool is_full() const override {
    return terms::runtime_code_of(refusal) == RuntimeCode::kQueueFull;
  }

  Status refusal;
  Status failure;
  RuntimeCode code = RuntimeCode::kOk;
  bool has_no_memory = false;
  int num_runs = 0;
  int num_refused = 0;
  int num_told = 0;

 private:
  terms::Signature signature_;
};

class ReplyingModelTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kLimitBytes = 1 << 20;

  runtime::Request request_of(float x, std::uint64_t owner = 1) {
    auto memory = std::make_shared<float>(x);
    runtime::Request request;
    request.inputs = {{memory.get(), sizeof(float), ir::ElementType::kF32, {1}}};
    request.memory_owner = memory;
    request.exchange_owner = owner;
    request.on_done = [this](const runtime::Reply& reply) {
      const bool is_answer = !reply.outputs.empty();
      answers_.push_back(
          is_answer ? fmt::format("{}", *static_cast<const float*>(reply.outputs[0].view.data))
                    : reply.errors.to_status().message());
      was_kept_ = reply.is_kept;
    };
    return request;
  }
  Result<std::uint64_t> ask(runtime::Request request) { return model_->submit(request); }
  Result<std::uint64_t> ask(float x, std::uint64_t owner = 1) { return ask(request_of(x, owner)); }

  /// Replies of tenants of one account, which may hold `account_bytes`.
  static std::shared_ptr<KeptReplies> replies_of(std::int64_t limit_bytes,
                                                 std::shared_ptr<ByteBudget> account) {
    auto replies = std::make_shared<KeptReplies>(limit_bytes);
    AccountMemory memory;
    memory.all = account;
    for (const std::uint64_t tenant : {1, 5, 6}) {
      memory.kept = std::make_shared<ByteBudget>(2 * kLimitBytes, account);
      replies->add(sandbox::OwnerId{tenant}, memory);
    }
    return replies;
  }

  std::shared_ptr<ByteBudget> memory_ = std::make_shared<ByteBudget>(4 * kLimitBytes);
  std::shared_ptr<KeptReplies> replies_ = replies_of(kLimitBytes, memory_);
  std::shared_ptr<Counter> counter_ = std::make_shared<Counter>();
  std::shared_ptr<ReplyingModel> model_ = ReplyingModel::create(counter_, replies_);
  std::vector<std::string> answers_;
  bool was_kept_ = false;
};

TEST_F(ReplyingModelTest, EqualRequestGetsTheFirstReply) {
  ASSERT_TRUE(ask(1).is_ok());
  EXPECT_FALSE(was_kept_);
  const auto id = ask(1);
  ASSERT_TRUE(id.is_ok());
  EXPECT_TRUE(was_kept_);
  EXPECT_FALSE(model_->cancel(*id)) << "it is answered";
  ASSERT_TRUE(ask(2).is_ok());
  EXPECT_THAT(answers_, ElementsAre("2", "2", "4"));
  EXPECT_EQ(counter_->num_runs, 2);
  const terms::KeptCounts counts = model_->counts();
  EXPECT_EQ(counts.hits, 1);
  EXPECT_EQ(counts.misses, 2);
  EXPECT_GT(counts.miss_ns, 0);
}

TEST_F(ReplyingModelTest, NoTenantGetsTheReplyOfAnother) {
  ASSERT_TRUE(ask(1, 5).is_ok());
  ASSERT_TRUE(ask(1, 6).is_ok());
  EXPECT_THAT(answers_, ElementsAre("2", "3"));
}

TEST_F(ReplyingModelTest, RequestOfNobodyIsAlwaysComputed) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(ask(1, 0).is_ok());
  EXPECT_THAT(answers_, ElementsAre("2", "3"));
  EXPECT_EQ(replies_->held_bytes(), 0);
}

TEST_F(ReplyingModelTest, NoModelGivesTheReplyOfAnother) {
  ASSERT_TRUE(ask(1).is_ok());
  model_ = ReplyingModel::create(counter_, replies_);  // the same, loaded again
  ASSERT_TRUE(ask(1).is_ok());
  EXPECT_THAT(answers_, ElementsAre("2", "3"));
}

TEST_F(ReplyingModelTest, TypesAndShapesTellRequestsOfEqualBytesApart) {
  ASSERT_TRUE(ask(0).is_ok());
  auto other_type = request_of(0);
  other_type.inputs[0].element = ir::ElementType::kI32;
  ASSERT_TRUE(ask(std::move(other_type)).is_ok());
  auto other_shape = request_of(0);
  other_shape.inputs[0].dims = {1, 1};
  ASSERT_TRUE(ask(std::move(other_shape)).is_ok());
  auto split = request_of(0);
  split.inputs[0].size_bytes = 2;
  split.inputs.push_back(split.inputs[0]);
  ASSERT_TRUE(ask(std::move(split)).is_ok());
  EXPECT_EQ(counter_->num_runs, 4);
}

TEST_F(ReplyingModelTest, RepliesGoWithTheirModelAndGiveTheirMemoryBack) {
  for (int x = 0; x < 10; ++x) ASSERT_TRUE(ask(static_cast<float>(x)).is_ok());
  EXPECT_GT(replies_->held_bytes(), 0);
  EXPECT_EQ(memory_->held_bytes(), replies_->held_bytes());
  model_ = nullptr;
  EXPECT_EQ(replies_->held_bytes(), 0);
  EXPECT_EQ(memory_->held_bytes(), 0);
}

TEST_F(ReplyingModelTest, RepliesNeverHoldMoreThanTheLimit) {
  for (int x = 0; x < 2000; ++x) {
    ASSERT_TRUE(ask(static_cast<float>(x)).is_ok());
    ASSERT_LE(replies_->held_bytes(), kLimitBytes);
  }
  EXPECT_GT(replies_->held_bytes(), kLimitBytes / 2);
  answers_.clear();
  ASSERT_TRUE(ask(1999).is_ok());
  EXPECT_TRUE(was_kept_);
  ASSERT_TRUE(ask(0).is_ok());
  EXPECT_FALSE(was_kept_) << "the least recently used went";
}

TEST_F(ReplyingModelTest, ReplyWithoutRoomIsGivenAndNotKept) {
  for (const auto& [limit, budget] : {std::pair(100, 1 << 20), std::pair(1 << 20, 100)}) {
    replies_ = replies_of(limit, std::make_shared<ByteBudget>(budget));
    model_ = ReplyingModel::create(counter_, replies_);
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(ask(1).is_ok());
      EXPECT_FALSE(was_kept_);
    }
    EXPECT_EQ(replies_->held_bytes(), 0);
  }
}

TEST_F(ReplyingModelTest, RepliesLeaveTheirTenantHalfOfItsMemory) {
  memory_ = std::make_shared<ByteBudget>(100'000);
  replies_ = replies_of(kLimitBytes, memory_);
  model_ = ReplyingModel::create(counter_, replies_);
  for (int x = 0; x < 200; ++x) {
    ASSERT_TRUE(ask(static_cast<float>(x)).is_ok());
    ASSERT_LE(memory_->held_bytes(), 50'000);
  }
  EXPECT_GT(memory_->held_bytes(), 40'000);
  ASSERT_TRUE(ask(199).is_ok());
  EXPECT_TRUE(was_kept_);
  ASSERT_TRUE(ask(0).is_ok());
  EXPECT_FALSE(was_kept_) << "the least recently used of the tenant went";
  auto other = ByteCharge::take(memory_, 49'000);  // such as a model
  ASSERT_TRUE(other.is_ok());
  ASSERT_TRUE(ask(300).is_ok());
  EXPECT_LE(memory_->held_bytes(), 50'000) << "what is kept makes room for what is needed";
  ASSERT_TRUE(other->resize(90'000).is_ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(ask(301).is_ok());
    EXPECT_FALSE(was_kept_);
  }
  EXPECT_EQ(replies_->held_bytes(), 0);
}

TEST_F(ReplyingModelTest, NothingIsKeptForATenantThatHasEnded) {
  replies_->drop(sandbox::OwnerId{5});
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(ask(1, 5).is_ok());
    EXPECT_FALSE(was_kept_);
  }
  EXPECT_EQ(memory_->held_bytes(), 0);
}

TEST_F(ReplyingModelTest, FullLineRefusesBeforeAnInputIsRead) {
  ASSERT_TRUE(ask(1).is_ok());
  counter_->refusal = terms::runtime_error(RuntimeCode::kQueueFull, "full");
  auto request = request_of(1);
  request.inputs[0].data = nullptr;  // whoever reads it ends the test
  EXPECT_EQ(model_->submit(request).status().message(), "full");
  counter_->refusal = ok_status();
  ASSERT_TRUE(ask(1).is_ok());
  EXPECT_TRUE(was_kept_);
}

TEST_F(ReplyingModelTest, ErrorIsNotKept) {
  counter_->failure = terms::runtime_error(RuntimeCode::kFailed, "the device is gone");
  ASSERT_TRUE(ask(1).is_ok());
  counter_->failure = ok_status();
  counter_->code = RuntimeCode::kNumericError;  // with outputs
  ASSERT_TRUE(ask(1).is_ok());
  counter_->code = RuntimeCode::kOk;
  ASSERT_TRUE(ask(1).is_ok());
  EXPECT_THAT(answers_, ElementsAre("the device is gone", "3", "4"));
  EXPECT_EQ(model_->counts().misses, 1) << "as Triton counts";
}

TEST_F(ReplyingModelTest, RefusedRequestStaysAsItWas) {
  auto request = request_of(1);
  counter_->refusal = terms::runtime_error(RuntimeCode::kQueueFull, "full");
  EXPECT_EQ(model_->submit(request).status().message(), "full");
  counter_->refusal = ok_status();
  counter_->has_no_memory = true;
  EXPECT_THAT(model_->submit(request).status().message(), HasSubstr("memory"));
  counter_->has_no_memory = false;
  EXPECT_THAT(answers_, IsEmpty());
  ASSERT_TRUE(model_->submit(request).is_ok());
  EXPECT_THAT(answers_, ElementsAre("2"));
  model_->refused(request);
  EXPECT_EQ(counter_->num_refused, 1);
}

TEST_F(ReplyingModelTest, KeptReplyGoesToTheClientsMemoryWhereItFits) {
  ASSERT_TRUE(ask(1).is_ok());
  std::array<float, 1> place = {};
  auto request = request_of(1);
  request.outputs = {{place.data(), sizeof(float)}};
  ASSERT_TRUE(ask(std::move(request)).is_ok());
  EXPECT_TRUE(was_kept_);
  EXPECT_EQ(place[0], 2);
  auto small = request_of(1);
  small.outputs = {{place.data(), 2}};
  ASSERT_TRUE(ask(std::move(small)).is_ok());
  EXPECT_EQ(counter_->num_runs, 2) << "the model says what is wrong";
}

TEST_F(ReplyingModelTest, StoppedModelGivesNoKeptReplies) {
  ASSERT_TRUE(ask(1).is_ok());
  model_->stop_replying();
  counter_->refusal = terms::runtime_error(RuntimeCode::kFailed, "not started");
  EXPECT_FALSE(ask(1).is_ok());
  model_->update_replying([] { return false; });
  EXPECT_FALSE(ask(1).is_ok());
  counter_->refusal = ok_status();
  model_->update_replying([] { return true; });
  ASSERT_TRUE(ask(1).is_ok());
  EXPECT_TRUE(was_kept_);
}

/// The thread that started the model has seen that it answers, and has not said so when the other
/// one has stopped it.
TEST_F(ReplyingModelTest, LateStartDoesNotUndoAStop) {
  ASSERT_TRUE(ask(1).is_ok());
  std::atomic<bool> is_started = true;
  std::thread stop;
  model_->update_replying([&] {
    const bool answers = is_started;
    is_started = false;
    stop = std::thread([&] { model_->update_replying([&] { return is_started.load(); }); });
    return answers;
  });
  stop.join();
  ASSERT_TRUE(ask(1).is_ok());
  EXPECT_FALSE(was_kept_);
}

TEST_F(ReplyingModelTest, WaitersHearOfAKeptReplyBehindItsCall) {
  ASSERT_TRUE(ask(1).is_ok());
  EXPECT_EQ(counter_->num_told, 0) << "the model tells of its own answers";
  auto request = request_of(1);
  int num_told = -1;
  request.on_done = [&](const runtime::Reply& /*reply*/) {
    num_told = counter_->num_told;
    model_ = nullptr;  // its last owner
  };
  ReplyingModel& model = *model_;
  ASSERT_TRUE(model.submit(request).is_ok());
  EXPECT_EQ(num_told, 0);
  EXPECT_EQ(counter_->num_told, 1);
}

TEST_F(ReplyingModelTest, RepliesGoWithTheirTenant) {
  sandbox::Exchange exchange(system_clock(), {});
  exchange.add(std::weak_ptr<sandbox::ExchangeHolder>(replies_));
  for (const std::uint64_t owner : {5, 6}) ASSERT_TRUE(ask(1, owner).is_ok());
  const std::int64_t of_both = replies_->held_bytes();
  exchange.drop(sandbox::OwnerId{5});
  EXPECT_EQ(replies_->held_bytes(), of_both / 2);
  EXPECT_EQ(memory_->held_bytes(), of_both / 2);
  ASSERT_TRUE(ask(1, 6).is_ok());
  EXPECT_TRUE(was_kept_);
  ASSERT_TRUE(ask(1, 5).is_ok());
  EXPECT_FALSE(was_kept_);
}

TEST_F(ReplyingModelTest, KeptReplyOutlivesItsPlaceInTheStore) {
  ASSERT_TRUE(ask(1).is_ok());
  runtime::Reply held;
  auto request = request_of(1);
  request.on_done = [&](runtime::Reply reply) { held = std::move(reply); };
  ASSERT_TRUE(model_->submit(request).is_ok());
  model_ = nullptr;
  EXPECT_EQ(replies_->held_bytes(), 0);
  EXPECT_GT(memory_->held_bytes(), 0) << "somebody reads it";
  EXPECT_EQ(*static_cast<const float*>(held.outputs.at(0).view.data), 2);
  held = {};
  EXPECT_EQ(memory_->held_bytes(), 0);
}

}  // namespace
}  // namespace sluice::service
