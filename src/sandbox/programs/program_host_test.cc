#include "sandbox/programs/program_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "sandbox/programs/testing/shell_program.h"

namespace sluice::sandbox {
namespace {

using ::testing::HasSubstr;
using testing::shell_launcher;
using testing::shell_program;

class ProgramModelTest : public ::testing::Test {
 protected:
  std::shared_ptr<ProgramModel> start(const std::string& script, ProgramModelOptions options = {}) {
    options.name = "f";
    options.words = shell_program(script);
    auto model = ProgramModel::start(std::move(options), system_clock());
    EXPECT_TRUE(model.is_ok()) << model.status().message();
    return model.is_ok() ? *model : nullptr;
  }

  static runtime::Request request_of(std::string& text) {
    runtime::Request request;
    const auto size = static_cast<std::int64_t>(text.size());
    request.inputs = {{text.data(), size, ir::ElementType::kU8, {size}}};
    return request;
  }

  static std::string reply_text(const runtime::Reply& reply) {
    if (reply.code != RuntimeCode::kOk) return reply.errors.to_status().message();
    const terms::TensorView& view = reply.outputs.at(0).view;
    return {static_cast<const char*>(view.data), static_cast<std::size_t>(view.size_bytes)};
  }

  static std::string ask(ProgramModel& model, std::string text) {
    return reply_text(runtime::infer(model, request_of(text)));
  }
};

TEST_F(ProgramModelTest, EachRequestHasAProcessOfItsOwn) {
  const auto model = start("cat; echo $$");
  const std::string first = ask(*model, "a");
  EXPECT_EQ(first.front(), 'a');
  EXPECT_NE(ask(*model, "a"), first);
  EXPECT_EQ(model->statistics().accepted, 2);
  EXPECT_EQ(model->statistics().num_answered(), 2);
}

TEST_F(ProgramModelTest, ReplyGoesToMemoryOfTheCaller) {
  const auto model = start("cat");
  std::string text = "words";
  std::string room(8, '.');
  runtime::Request request = request_of(text);
  request.outputs = {{room.data(), 8}};
  EXPECT_EQ(reply_text(runtime::infer(*model, std::move(request))), "words");
  EXPECT_EQ(room, "words...");
  request = request_of(text);
  request.outputs = {{room.data(), 4}};
  EXPECT_EQ(runtime::infer(*model, std::move(request)).code, RuntimeCode::kBadInput);
}

TEST_F(ProgramModelTest, TensorThatIsNoBytesIsRefused) {
  const auto model = start("cat");
  float number = 1;
  runtime::Request request;
  request.inputs = {{&number, 4, ir::ElementType::kF32, {1}}};
  const runtime::Reply reply = runtime::infer(*model, std::move(request));
  EXPECT_EQ(reply.code, RuntimeCode::kBadInput);
  EXPECT_THAT(reply_text(reply), HasSubstr("f32[1] came"));
}

TEST_F(ProgramModelTest, LimitOfARunEndsIt) {
  const auto model = start("sleep 20", {.max_run_ns = 50'000'000});
  std::string text = "x";
  EXPECT_EQ(runtime::infer(*model, request_of(text)).code, RuntimeCode::kTimeout);
}

TEST_F(ProgramModelTest, FailedProcessIsReplaced) {
  const auto model = start("read word; [ $word = good ] && echo yes");
  EXPECT_THAT(ask(*model, "bad\n"), HasSubstr("exit code 1"));
  EXPECT_EQ(ask(*model, "good\n"), "yes\n");
}

TEST_F(ProgramModelTest, CancelAndCloseAnswerWhatRuns) {
  const auto model = start("sleep 1000", {.depth = 2});
  std::string text = "x";
  std::promise<RuntimeCode> cancelled;
  runtime::Request request = request_of(text);
  request.on_done = [&](runtime::Reply reply) { cancelled.set_value(reply.code); };
  const auto id = model->submit(request);
  ASSERT_TRUE(id.is_ok());
  std::promise<RuntimeCode> closed;
  request = request_of(text);
  request.on_done = [&](runtime::Reply reply) { closed.set_value(reply.code); };
  ASSERT_TRUE(model->submit(request).is_ok());
  request = request_of(text);
  EXPECT_EQ(terms::runtime_code_of(model->submit(request).status()), RuntimeCode::kQueueFull);
  EXPECT_TRUE(model->cancel(*id));
  EXPECT_EQ(cancelled.get_future().get(), RuntimeCode::kCancelled);
  model->close();
  EXPECT_EQ(closed.get_future().get(), RuntimeCode::kCancelled);
  EXPECT_FALSE(model->submit(request).is_ok());
}

TEST(ProgramHostTest, LoadSaysWhatTheProxySays) {
  ProgramHostOptions options;
  options.launcher = shell_launcher();
  options.proxy = shell_program("echo no device here >&2; exit 1");
  ProgramHost host(options, system_clock());
  runtime::LoadRequest request;
  request.depth = 1;
  EXPECT_EQ(terms::runtime_code_of(host.load(request, {}).status()), RuntimeCode::kInvalid);
  request.function.emplace().program.emplace();
  request.path = "/bin/cat";
  const auto model = host.load(request, {});
  EXPECT_EQ(terms::runtime_code_of(model.status()), RuntimeCode::kFailed);
  EXPECT_THAT(model.status().message(), HasSubstr("no device here"));
  EXPECT_TRUE(host.list_models().empty());
}

}  // namespace
}  // namespace sluice::sandbox
