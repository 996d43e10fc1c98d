#include "service/sequences/sequence_model.h"

#include <gmock/gmock.h>

#include <atomic>
#include <new>

#include "support/eventually.h"
#include "support/manual_clock.h"

namespace sluice::service {
namespace {

using terms::SequenceControl;
using terms::TensorView;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// total = (START ? 0 : total) + x, which is y, too. Answers in `complete`.
class Adder final : public runtime::RequestSink {
 public:
  explicit Adder(Clock& clock) : clock_(clock) {
    const auto spec = [](const char* name, const char* type) {
      return terms::TensorSpec{name, ir::parse_type(type).value(), -1};
    };
    signature_.inputs = {spec("START", "i32[1]"), spec("before", "f32[1]"), spec("x", "f32[1]"),
                         spec("ID", "u64[1]"), spec("END", "bool[1]")};
    signature_.outputs = {spec("after", "f32[1]"), spec("y", "f32[1]")};
  }

  const terms::Signature& signature() const override { return signature_; }
  int depth() const override { return 1; }
  Clock& clock() const override { return clock_; }
  Result<std::uint64_t> submit(runtime::Request& request) override {
    if (!refusal.is_ok()) return refusal;
    if (has_no_memory) throw std::bad_alloc();
    requests.push_back(std::move(request));
    return ++last_id_;
  }
  bool cancel(std::uint64_t id) override {
    cancelled.push_back(id);
    return true;
  }
  bool wait(const std::function<bool()>& is_done, std::int64_t /*deadline_ns*/) override {
    return is_done();
  }
  void tell_waiters() override {}

  /// The first request that waits for its answer.
  void complete(const Status& status = ok_status()) {
    runtime::Request request = std::move(requests.front());
    requests.pop_front();
    if (!status.is_ok()) return request.on_done(runtime::failed_reply(status));
    const float total = value<float>(request, 1) + value<float>(request, 2);
    request.on_done({RuntimeCode::kOk, {}, {tensor(total), tensor(total)}, {}});
  }

  template <typename T>
  static T value(const runtime::Request& request, std::size_t input) {
    return *static_cast<const T*>(request.inputs.at(input).data);
  }

  /// Sets the type of the state's output.
  void set_output_type(const char* type) {
    signature_.outputs[0].type = ir::parse_type(type).value();
  }

  Status refusal;
  bool has_no_memory = false;
  std::deque<runtime::Request> requests;
  std::vector<std::uint64_t> cancelled;

 private:
  static terms::OutputTensor tensor(float number) {
    auto memory = std::make_shared<float>(number);
    TensorView view = {memory.get(), sizeof(float), ir::ElementType::kF32, {1}};
    return {std::move(view), std::move(memory)};
  }

  Clock& clock_;
  terms::Signature signature_;
  std::uint64_t last_id_ = 0;
};

terms::DeclaredModel declared(std::int64_t max_idle_us = 1000) {
  using Kind = SequenceControl::Kind;
  terms::SequenceRules rules;
  rules.max_idle_us = max_idle_us;
  rules.controls = {{"START", Kind::kStart, ir::ElementType::kI32, 0, 1, 3},
                    {"END", Kind::kEnd, ir::ElementType::kBool, 0, 1, 4},
                    {"ID", Kind::kCorrelationId, ir::ElementType::kU64, 0, 1, 5}};
  terms::SequenceState state;
  state.input = "before";
  state.output = "after";
  state.line = 6;
  rules.states = {state};
  terms::DeclaredModel model;
  model.sequences = rules;
  return model;
}

class SequenceModelTest : public ::testing::Test {
 protected:
  enum : unsigned { kMiddle = 0, kStart = 1, kEnd = 2 };

  void create(const terms::DeclaredModel& model = declared(), const SequenceLimits& limits = {}) {
    auto made = SequenceModel::create("m", adder_, model, exchange_.get(), limits);
    ASSERT_TRUE(made.is_ok()) << made.status().to_string();
    sequences_ = *made;
  }

  /// The answer comes into `answers_`, "total" or an error.
  Result<std::uint64_t> send(std::uint64_t id, float x, unsigned flags, std::uint64_t owner = 1,
                             std::int64_t deadline_ns = kNoDeadline,
                             const std::vector<terms::OutputMemory>& outputs = {}) {
    terms::SequencePart part = {std::to_string(id), true, id, (flags & kStart) != 0,
                                (flags & kEnd) != 0};
    auto memory = std::make_shared<float>(x);
    runtime::Request request;
    request.inputs = {{memory.get(), sizeof(float), ir::ElementType::kF32, {1}}};
    request.memory_owner = memory;
    request.exchange_owner = owner;
    request.deadline_ns = deadline_ns;
    request.outputs = outputs;
    request.sequence = std::make_shared<const terms::SequencePart>(std::move(part));
    request.on_done = [this](const runtime::Reply& reply) {
      if (reply.outputs.empty()) {
        answers_.push_back(reply.errors.to_status().message());
      } else {
        answers_.push_back(
            fmt::format("{}", *static_cast<const float*>(reply.outputs.at(0).view.data)));
      }
      ++num_answers_;
    };
    return sequences_->submit(request);
  }
  std::string refusal(std::uint64_t id, unsigned flags, std::uint64_t owner = 1) {
    const auto sent = send(id, 1, flags, owner);
    return sent.is_ok() ? "" : sent.status().message();
  }
  /// Sends and answers.
  std::string ask(std::uint64_t id, float x, unsigned flags, std::uint64_t owner = 1) {
    const auto sent = send(id, x, flags, owner);
    if (!sent.is_ok()) return sent.status().message();
    adder_->complete();
    return answers_.back();
  }

  /// Owners 1 and 2 may have states there.
  void create_with_exchange(const sandbox::ExchangeLimits& limits = {}) {
    exchange_ = std::make_unique<sandbox::Exchange>(clock_, sandbox::ExchangeOptions{limits});
    for (const std::uint64_t owner : {1, 2}) exchange_->add(sandbox::OwnerId{owner});
    create();
  }

  ManualClock clock_;
  std::unique_ptr<sandbox::Exchange> exchange_;
  std::shared_ptr<Adder> adder_ = std::make_shared<Adder>(clock_);
  std::shared_ptr<SequenceModel> sequences_;
  std::vector<std::string> answers_;
  std::atomic<int> num_answers_ = 0;  ///< another thread's, too
};

constexpr const char* kNotStarted =
    "inference request for sequence 7 to model 'm' must specify the START flag on the first "
    "request of the sequence";

TEST_F(SequenceModelTest, ClientsSeeNeitherControlsNorStates) {
  create();
  ASSERT_EQ(sequences_->signature().inputs.size(), 1U);
  EXPECT_EQ(sequences_->signature().inputs[0].name, "x");
  ASSERT_EQ(sequences_->signature().outputs.size(), 1U);
  EXPECT_EQ(sequences_->signature().outputs[0].name, "y");
}

TEST_F(SequenceModelTest, StatesAndControlsFollowTheSequence) {
  create();
  EXPECT_EQ(ask(7, 1, kStart), "1");
  EXPECT_EQ(ask(8, 10, kStart), "10");
  EXPECT_EQ(ask(7, 2, kMiddle), "3");
  ASSERT_TRUE(send(8, 20, kEnd).is_ok());
  const runtime::Request& request = adder_->requests.front();
  EXPECT_EQ(Adder::value<std::int32_t>(request, 0), 0);
  EXPECT_EQ(Adder::value<std::uint64_t>(request, 3), 8U);
  EXPECT_EQ(Adder::value<std::uint8_t>(request, 4), 1U);
  adder_->complete();
  EXPECT_EQ(answers_.back(), "30");
  EXPECT_EQ(sequences_->num_sequences(), 1U);
  EXPECT_EQ(ask(7, 5, kStart), "5") << "it begins anew";
  EXPECT_EQ(ask(7, 1, kStart | kEnd), "1");
  EXPECT_EQ(sequences_->num_sequences(), 0U);
}

TEST_F(SequenceModelTest, LostStartIsAnErrorInTritonsWords) {
  create();
  EXPECT_EQ(refusal(7, kMiddle), kNotStarted);
  EXPECT_EQ(ask(7, 1, kStart | kEnd), "1");
  EXPECT_EQ(refusal(7, kEnd), kNotStarted);
  runtime::Request request;
  EXPECT_THAT(sequences_->submit(request).status().message(),
              HasSubstr("must specify a non-zero or non-empty correlation ID"));
}

TEST_F(SequenceModelTest, OwnersDoNotShareIds) {
  create();
  EXPECT_EQ(ask(7, 1, kStart, 1), "1");
  EXPECT_EQ(refusal(7, kMiddle, 2), kNotStarted);
  EXPECT_EQ(ask(7, 5, kStart, 2), "5");
  EXPECT_EQ(ask(7, 1, kMiddle, 1), "2");
}

TEST_F(SequenceModelTest, RequestsOfASequenceWaitForThoseBeforeThem) {
  create();
  ASSERT_TRUE(send(7, 1, kStart).is_ok());
  ASSERT_TRUE(send(7, 2, kMiddle).is_ok());
  ASSERT_TRUE(send(7, 3, kEnd).is_ok());
  ASSERT_TRUE(send(7, 9, kStart).is_ok()) << "another sequence behind it";
  ASSERT_TRUE(send(8, 5, kStart).is_ok());
  EXPECT_EQ(adder_->requests.size(), 2U);
  for (int i = 0; i < 5; ++i) adder_->complete();
  EXPECT_THAT(answers_, ElementsAre("1", "5", "3", "6", "9"));
  EXPECT_EQ(sequences_->num_sequences(), 2U);
}

TEST_F(SequenceModelTest, FailedRequestLeavesTheStates) {
  create();
  EXPECT_EQ(ask(7, 1, kStart), "1");
  ASSERT_TRUE(send(7, 2, kMiddle).is_ok());
  adder_->complete(make_error(Code::kInternal, "broken"));
  EXPECT_EQ(answers_.back(), "broken");
  EXPECT_EQ(ask(7, 3, kMiddle), "4");
}

TEST_F(SequenceModelTest, RefusedStartBeginsNothingAndRefusedEndEndsNothing) {
  create();
  adder_->refusal = make_error(Code::kUnavailable, "full");
  EXPECT_EQ(refusal(7, kStart), "full");
  EXPECT_EQ(sequences_->num_sequences(), 0U);
  adder_->refusal = ok_status();
  EXPECT_EQ(ask(7, 1, kStart), "1");
  adder_->refusal = make_error(Code::kUnavailable, "full");
  EXPECT_EQ(refusal(7, kEnd), "full");
  adder_->refusal = ok_status();
  EXPECT_EQ(ask(7, 1, kEnd), "2");
}

TEST_F(SequenceModelTest, RequestsBehindAStartThatFailsFail) {
  create();
  EXPECT_EQ(ask(7, 1, kStart), "1");
  ASSERT_TRUE(send(7, 5, kStart).is_ok());
  ASSERT_TRUE(send(7, 2, kMiddle).is_ok());
  adder_->complete(make_error(Code::kInternal, "broken"));
  EXPECT_THAT(answers_, ElementsAre("1", "broken", kNotStarted));
  EXPECT_EQ(sequences_->num_sequences(), 0U);
  EXPECT_EQ(refusal(7, kMiddle), kNotStarted);
}

TEST_F(SequenceModelTest, RequestsBehindAStartThatIsRefusedWhenItsTurnComesFail) {
  create();
  ASSERT_TRUE(send(7, 1, kStart).is_ok());
  ASSERT_TRUE(send(7, 5, kStart).is_ok());
  ASSERT_TRUE(send(7, 2, kMiddle).is_ok());
  adder_->refusal = make_error(Code::kUnavailable, "full");
  adder_->complete();
  EXPECT_THAT(answers_, ElementsAre("1", "full", kNotStarted));
  EXPECT_EQ(sequences_->num_sequences(), 0U);
}

TEST_F(SequenceModelTest, RequestsBehindAStartThatIsCancelledWhileItWaitsFail) {
  create();
  ASSERT_TRUE(send(7, 1, kStart).is_ok());
  const auto start = send(7, 5, kStart);
  ASSERT_TRUE(send(7, 2, kMiddle).is_ok());
  ASSERT_TRUE(send(7, 8, kStart).is_ok());
  EXPECT_TRUE(sequences_->cancel(*start));
  EXPECT_FALSE(sequences_->cancel(*start));
  adder_->complete();
  EXPECT_THAT(answers_, ElementsAre("the request was cancelled", "1", kNotStarted));
  adder_->complete();
  EXPECT_EQ(answers_.back(), "8");
  EXPECT_EQ(ask(7, 1, kEnd), "9");
  EXPECT_EQ(sequences_->num_sequences(), 0U);
}

TEST_F(SequenceModelTest, RequestsBehindAStartThatFoundNoRoomInTheLineFail) {
  SequenceLimits limits;
  limits.max_waiting = 1;
  create(declared(), limits);
  ASSERT_TRUE(send(7, 1, kStart).is_ok());
  ASSERT_TRUE(send(7, 2, kMiddle).is_ok());
  EXPECT_THAT(refusal(7, kStart), HasSubstr("which is the limit"));
  adder_->complete();
  EXPECT_EQ(refusal(7, kMiddle), kNotStarted);
  adder_->complete();
  EXPECT_THAT(answers_, ElementsAre("1", "3"));
  EXPECT_EQ(refusal(7, kMiddle), kNotStarted);
  EXPECT_EQ(ask(7, 4, kStart), "4");
  EXPECT_EQ(ask(7, 4, kMiddle), "8");
}

TEST_F(SequenceModelTest, RequestsBehindAStartThatWasRefusedAnywhereFail) {
  create();
  runtime::Request start;
  start.exchange_owner = 1;
  start.sequence =
      std::make_shared<const terms::SequencePart>(terms::SequencePart{"7", true, 7, true, false});
  EXPECT_EQ(ask(7, 1, kStart), "1");
  EXPECT_EQ(ask(7, 2, kMiddle), "3");
  sequences_->refused(start);  // by the quota of the session
  EXPECT_EQ(ask(7, 2, kMiddle), kNotStarted);
  EXPECT_EQ(ask(7, 5, kStart), "5");
  EXPECT_FALSE(sequences_->submit(start).is_ok()) << "it has no inputs";
  EXPECT_EQ(ask(7, 2, kMiddle), kNotStarted);
  EXPECT_EQ(ask(7, 8, kStart), "8");
  EXPECT_EQ(ask(7, 2, kMiddle), "10");
}

TEST_F(SequenceModelTest, EndThatFailsOrIsCancelledEndsNothing) {
  create();
  ASSERT_TRUE(send(7, 1, kStart).is_ok());
  const auto end = send(7, 2, kEnd);
  EXPECT_TRUE(sequences_->cancel(*end));
  adder_->complete();
  ASSERT_TRUE(send(7, 2, kEnd).is_ok());
  adder_->complete(make_error(Code::kInternal, "broken"));
  EXPECT_EQ(answers_.back(), "broken");
  EXPECT_EQ(ask(7, 3, kMiddle), "4");
}

TEST_F(SequenceModelTest, RequestsBehindAnEndFail) {
  create();
  ASSERT_TRUE(send(7, 1, kStart | kEnd).is_ok());
  ASSERT_TRUE(send(7, 2, kMiddle).is_ok());
  adder_->complete();
  EXPECT_THAT(answers_, ElementsAre("1", kNotStarted));
  EXPECT_EQ(sequences_->num_sequences(), 0U);
}

TEST_F(SequenceModelTest, LackOfMemoryIsARefusalAndBlocksNothing) {
  create();
  EXPECT_EQ(ask(7, 1, kStart), "1");
  adder_->has_no_memory = true;
  EXPECT_THAT(refusal(7, kMiddle), HasSubstr("no memory left"));
  adder_->has_no_memory = false;
  ASSERT_TRUE(send(7, 2, kMiddle).is_ok());
  ASSERT_TRUE(send(7, 4, kMiddle).is_ok());
  adder_->has_no_memory = true;
  adder_->complete();
  EXPECT_THAT(answers_, ElementsAre("1", "3", HasSubstr("no memory left")));
  adder_->has_no_memory = false;
  EXPECT_EQ(ask(7, 8, kMiddle), "11");
}

TEST_F(SequenceModelTest, StateThatIsAnOutputIsReturnedAsACopyOfItsOwn) {
  terms::DeclaredModel model = declared();
  model.outputs.resize(1);
  model.outputs[0].name = "after";
  create(model);
  ASSERT_EQ(sequences_->signature().outputs.size(), 2U);
  EXPECT_EQ(sequences_->signature().outputs[0].name, "after");
  float after = 0;
  ASSERT_TRUE(send(7, 1, kStart, 1, kNoDeadline, {{&after, sizeof after}}).is_ok());
  adder_->complete();
  EXPECT_EQ(after, 1);
  after = 100;  // the client's memory is no state
  EXPECT_EQ(ask(7, 2, kMiddle), "3");
  ASSERT_TRUE(send(7, 1, kMiddle, 1, kNoDeadline, {{&after, 2}}).is_ok());
  adder_->complete();
  EXPECT_EQ(answers_.back(), "output 0 has 4 bytes, its memory 2");
  EXPECT_EQ(ask(7, 4, kMiddle), "7");
}

TEST_F(SequenceModelTest, RefusedRequestThatWaitedIsAnswered) {
  create();
  ASSERT_TRUE(send(7, 1, kStart).is_ok());
  ASSERT_TRUE(send(7, 2, kMiddle).is_ok());
  ASSERT_TRUE(send(7, 3, kMiddle).is_ok());
  adder_->refusal = make_error(Code::kUnavailable, "unloaded");
  adder_->complete();
  EXPECT_THAT(answers_, ElementsAre("1", "unloaded", "unloaded"));
}

TEST_F(SequenceModelTest, IdleSequencesEnd) {
  create(declared(/*max_idle_us=*/1000));
  EXPECT_EQ(ask(7, 1, kStart), "1");
  clock_.advance(999'999);
  EXPECT_EQ(ask(7, 1, kMiddle), "2");
  clock_.advance(999'999);
  EXPECT_EQ(ask(7, 1, kMiddle), "3");
  clock_.advance(1'000'000);
  EXPECT_EQ(refusal(7, kMiddle), kNotStarted);
  EXPECT_EQ(sequences_->num_sequences(), 0U);
}

TEST_F(SequenceModelTest, IdleSequencesEndWithoutAnotherRequest) {
  create_with_exchange();
  EXPECT_EQ(ask(7, 1, kStart), "1");
  EXPECT_EQ(exchange_->usage(sandbox::OwnerId{1}).bytes, 4);
  clock_.advance(1'000'000);
  EXPECT_TRUE(testing::eventually([&] { return sequences_->num_sequences() == 0; }));
  EXPECT_TRUE(
      testing::eventually([&] { return exchange_->usage(sandbox::OwnerId{1}).bytes == 0; }));
}

TEST_F(SequenceModelTest, SequencesEndWithTheirOwner) {
  create_with_exchange();
  EXPECT_EQ(ask(7, 1, kStart, 1), "1");
  EXPECT_EQ(ask(8, 1, kStart, 1), "1");
  EXPECT_EQ(ask(7, 5, kStart, 2), "5");
  ASSERT_TRUE(send(8, 2, kMiddle, 1).is_ok());
  exchange_->drop(sandbox::OwnerId{1});
  EXPECT_EQ(sequences_->num_sequences(), 2U);
  adder_->complete();
  EXPECT_EQ(answers_.back(), "3");
  EXPECT_EQ(sequences_->num_sequences(), 1U);
  EXPECT_EQ(ask(7, 1, kMiddle, 2), "6");
}

TEST_F(SequenceModelTest, StatesCountByTheirBytesAlone) {
  create_with_exchange({.max_bytes = 8, .max_tensors = 0});
  EXPECT_EQ(ask(1, 1, kStart), "1");
  EXPECT_EQ(ask(2, 1, kStart), "1");
  EXPECT_THAT(ask(3, 1, kStart), HasSubstr("the state of sequence 3: the exchange holds"));
  EXPECT_THAT(answers_.back(), HasSubstr("4 more do not fit: end some sequences"));
  EXPECT_EQ(refusal(3, kMiddle),
            "inference request for sequence 3 to model 'm' must specify the START flag on the "
            "first request of the sequence");
  EXPECT_EQ(ask(1, 1, kMiddle), "2") << "a state takes the room of the one before it";
  EXPECT_EQ(ask(2, 1, kEnd), "2");
  EXPECT_EQ(ask(3, 1, kStart), "1");
}

TEST_F(SequenceModelTest, DeadlinesEndRequestsThatWait) {
  create_with_exchange();
  clock_.advance(10);
  ASSERT_TRUE(send(7, 1, kStart).is_ok());
  ASSERT_TRUE(send(7, 2, kMiddle, 1, 1000).is_ok());
  ASSERT_TRUE(send(7, 4, kMiddle, 1, 5000).is_ok());
  clock_.advance(990);
  EXPECT_TRUE(testing::eventually([&] { return num_answers_ == 1; }));
  EXPECT_THAT(answers_, ElementsAre(HasSubstr("the deadline passed")));
  adder_->complete();
  ASSERT_EQ(adder_->requests.size(), 1U);
  EXPECT_EQ(adder_->requests.front().since_ns, 10) << "its wait began in the line";
  adder_->complete();
  EXPECT_EQ(answers_.back(), "5");
}

TEST_F(SequenceModelTest, SequencesAreBounded) {
  SequenceLimits limits;
  limits.max_sequences = 3;
  limits.max_of_owner = 2;
  limits.max_waiting = 1;
  create(declared(), limits);
  EXPECT_EQ(ask(1, 1, kStart), "1");
  ASSERT_TRUE(send(2, 1, kStart).is_ok());
  EXPECT_THAT(refusal(3, kStart), HasSubstr("has 2 of your sequences, which is the limit"));
  EXPECT_EQ(refusal(2, kMiddle), "");
  EXPECT_THAT(refusal(2, kMiddle),
              HasSubstr("sequence 2 has 1 request waiting, which is the limit"));
  EXPECT_EQ(refusal(3, kStart, 2), "");
  EXPECT_THAT(refusal(4, kStart, 2), HasSubstr("has 3 sequences, which is the limit"));
  for (int i = 0; i < 3; ++i) adder_->complete();
  EXPECT_EQ(ask(1, 1, kEnd), "2");
  EXPECT_EQ(ask(4, 1, kStart, 2), "1");
}

TEST_F(SequenceModelTest, CancelsEndWhatWaitsAndReachTheModel) {
  create();
  const auto first = send(7, 1, kStart);
  const auto second = send(7, 2, kMiddle);
  ASSERT_TRUE(second.is_ok());
  EXPECT_TRUE(sequences_->cancel(*second));
  EXPECT_THAT(answers_, ElementsAre("the request was cancelled"));
  EXPECT_FALSE(sequences_->cancel(*second));
  EXPECT_TRUE(sequences_->cancel(*first));
  EXPECT_THAT(adder_->cancelled, ElementsAre(1U));
  adder_->complete();
  EXPECT_EQ(ask(7, 4, kMiddle), "5");
}

TEST_F(SequenceModelTest, TextsAndNumbersAreDifferentIds) {
  terms::DeclaredModel model = declared();
  model.sequences->controls.pop_back();
  adder_ = std::make_shared<Adder>(clock_);
  const auto made = SequenceModel::create("m", adder_, model, nullptr);
  ASSERT_TRUE(made.is_ok());
  EXPECT_EQ((*made)->signature().inputs.size(), 2U) << "ID is the client's without a control";
  create();
  EXPECT_EQ(ask(7, 1, kStart), "1");
  runtime::Request request;
  float x = 1;
  request.inputs = {{&x, sizeof(float), ir::ElementType::kF32, {1}}};
  request.exchange_owner = 1;
  request.sequence = std::make_shared<const terms::SequencePart>(terms::SequencePart{"7"});
  EXPECT_EQ(sequences_->submit(request).status().message(),
            "sequence_id \"7\" is a text, and the model takes numbers");
}

TEST_F(SequenceModelTest, RulesThatTheModelCannotFollowNameTheLine) {
  const auto error_of = [&](const terms::DeclaredModel& model) {
    const auto made = SequenceModel::create("m", adder_, model, nullptr);
    return made.is_ok() ? "" : made.status().message();
  };
  terms::DeclaredModel model = declared();
  model.sequences->controls[0].input = "BEGIN";
  EXPECT_EQ(error_of(model),
            "config.pbtxt, line 3: control_input \"BEGIN\": the model has no such input; it has "
            "START, before, x, ID, END");
  model = declared();
  model.sequences->controls[0].element = ir::ElementType::kF32;
  EXPECT_THAT(error_of(model), HasSubstr("line 3: control_input \"START\": the model has i32"));
  model = declared();
  model.sequences->states[0].output = "total";
  EXPECT_THAT(error_of(model),
              HasSubstr("line 6: state \"before\": output \"total\": the model has"));
  adder_->set_output_type("f32[2]");
  EXPECT_THAT(error_of(declared()),
              HasSubstr("line 6: state \"before\": the output is f32[2], the input f32[1]"));
  adder_->set_output_type("f32[1,1]");
  EXPECT_THAT(error_of(declared()), HasSubstr("the output is f32[1,1], the input f32[1]"));
  adder_->set_output_type("f32[1]");
  model = declared();
  model.sequences->states[0].dims = {2};
  EXPECT_THAT(error_of(model), HasSubstr("the first value is [2], the model has f32[1]"));
  model = declared();
  model.sequences->states[0].initial = Bytes::own(std::vector<std::byte>(8));
  EXPECT_THAT(error_of(model), HasSubstr("data_file has 8 bytes, the first value of [1] has 4"));
  model = declared();
  model.sequences->states[0].input = "START";
  EXPECT_THAT(error_of(model), HasSubstr("it is there twice"));
}

}  // namespace
}  // namespace sluice::service
