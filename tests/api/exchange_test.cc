// Tensors that stay in a daemon between requests, and that one daemon fetches from another one,
// through the installed headers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/backend.h"
#include "sluice/trace/trace.hpp"
#include "two_places.h"

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trace::Tensor;

std::vector<float> values(const Reply& reply, const std::string& name = {}) {
  const auto output = reply.output<float>(name);
  EXPECT_TRUE(output) << output.error().message;
  if (!output) return {};
  return {output->values.begin(), output->values.end()};
}

class ExchangeIn : public TwoPlaces {
 protected:
  /// A function of x, f32[N], and y: output "output" is x + y.
  LoadedModel adder() {
    auto package = trace::compile([](Tensor x, Tensor y) { return x + y; },
                                  {{"x", "f32[N]"}, {"y", "f32[N]"}});
    EXPECT_TRUE(package) << package.error().message;
    const std::string path = (folder_ / "adder.sluice").string();
    EXPECT_FALSE(package->save(path));
    return load({.path = path, .function = FunctionOptions()});
  }

  const std::vector<float> x_ = {1, 2, 3};
};
INSTANTIATE_TEST_SUITE_P(Places, ExchangeIn, ::testing::Values(Place::kRing, Place::kGrpc));

TEST_P(ExchangeIn, TensorThatIsPutIsAnInputUntilItIsRemoved) {
  const auto model = adder();
  const auto index = runtime_.put_tensor(tensor<float>("", x_, {3}));
  ASSERT_TRUE(index) << index.error().message;
  const auto read = runtime_.get_tensor(*index);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(values(*read), ElementsAre(1, 2, 3));
  const std::vector<InputTensor> inputs = {exchanged("x", *index), tensor<float>("y", x_, {3})};
  const auto reply = model.infer(inputs);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_THAT(values(*reply), ElementsAre(2, 4, 6));
  const auto later = model.submit({exchanged("y", *index), exchanged("x", *index)})->wait();
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_THAT(values(*later), ElementsAre(2, 4, 6));
  EXPECT_FALSE(runtime_.remove_tensor(*index));
  EXPECT_EQ(runtime_.get_tensor(*index).error().code, Code::kNotFound);
  EXPECT_EQ(runtime_.remove_tensor(*index)->code, Code::kNotFound);
  EXPECT_EQ(model.infer(inputs).error().code, Code::kNotFound);
}

TEST_P(ExchangeIn, OutputThatIsKeptIsTheNextInput) {
  const auto model = adder();
  const std::vector<InputTensor> both = {tensor<float>("x", x_, {3}), tensor<float>("y", x_, {3})};
  const auto reply = model.infer(both, {.kept = {"output"}, .ttl = std::chrono::seconds(60)});
  ASSERT_TRUE(reply) << reply.error().message;
  const auto index = reply->exchange("output");
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_NE(*index, 0U);
  const auto here = reply->output<float>("output");
  ASSERT_FALSE(here) << "its bytes stay in the daemon";
  EXPECT_EQ(here.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(reply->exchange("none").error().code, Code::kNotFound);
  const auto next = model.infer({exchanged("x", *index), exchanged("y", *index)});
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_THAT(values(*next), ElementsAre(4, 8, 12));
  EXPECT_EQ(*next->exchange("output"), 0U);
  const auto submitted = model.submit(both, {.kept = {"output"}})->wait();
  ASSERT_TRUE(submitted) << submitted.error().message;
  EXPECT_THAT(values(*runtime_.get_tensor(*submitted->exchange("output"))), ElementsAre(2, 4, 6));
}

TEST_P(ExchangeIn, WrongTensorsAndTimesAreRefused) {
  const auto model = adder();
  const auto good = tensor<float>("", x_, {3});
  EXPECT_THAT(runtime_.put_tensor(good, std::chrono::hours(2)).error().message,
              HasSubstr("time to live"));
  EXPECT_EQ(runtime_.put_tensor(good, std::chrono::seconds(-1)).error().code,
            Code::kInvalidArgument);
  auto short_of_bytes = good;
  short_of_bytes.size_bytes = 8;
  EXPECT_EQ(runtime_.put_tensor(short_of_bytes).error().code, Code::kInvalidArgument);
  auto without_data = good;
  without_data.data = nullptr;
  EXPECT_EQ(runtime_.put_tensor(without_data).error().code, Code::kInvalidArgument);
  EXPECT_EQ(model.infer({exchanged("", 1), exchanged("y", 1)}).error().code,
            Code::kInvalidArgument);
  EXPECT_THAT(model.infer({exchanged("x", 1), exchanged("x", 1)}).error().message,
              HasSubstr("\"x\" is given twice"));
  EXPECT_FALSE(model.infer({good, good}, {.kept = {"none"}}));
  sluice_request_options options = {};
  options.struct_size = sizeof(options);
  options.num_exchanged = 1;
  sluice_reply* reply = nullptr;
  EXPECT_EQ(sluice_runtime_infer(runtime_.get(), model.id(), nullptr, 0, &options, &reply),
            SLUICE_INVALID_ARGUMENT);
  std::uint64_t index = 0;
  EXPECT_EQ(sluice_runtime_put_tensor(runtime_.get(), nullptr, 0, &index), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_runtime_fetch_tensor(runtime_.get(), nullptr, &index), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_runtime_offer_tensor(runtime_.get(), 1, nullptr), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_runtime_bring_tensor(runtime_.get(), 1, 0, nullptr), SLUICE_INVALID_ARGUMENT);
}

TEST_P(ExchangeIn, ProcessorsReadTensorsWhereTheyAre) {
  const auto index = runtime_.put_tensor(tensor<float>("", x_, {3}));
  ASSERT_TRUE(index) << index.error().message;
  const auto brought = runtime_.bring_tensor(*index, 0);
  ASSERT_FALSE(brought);
  EXPECT_EQ(brought.error().code, Code::kInvalidArgument);
  EXPECT_THAT(brought.error().message, HasSubstr("works on the host's memory"));
  EXPECT_THAT(runtime_.bring_tensor(*index, 99).error().message, HasSubstr("no device 99"));
}

TEST(BroughtTensor, ComesOverTheLinkOfTwoDevices) {
  const TempDir folder;
  std::ofstream(folder / "machine.json")
      << R"({"devices": [{"count": 2}], "links": [{"a": 0, "b": 1}]})";
  const DaemonProcess daemon(folder, {"--sim", (folder / "machine.json").string()});
  const auto runtime = Runtime::connect(daemon.address());
  ASSERT_TRUE(runtime) << runtime.error().message << daemon.output();
  const std::vector<float> x = {1, 2, 3};
  const auto index = runtime->put_tensor(tensor<float>("", x, {3}));
  ASSERT_TRUE(index) << index.error().message;
  const std::vector<std::pair<int, std::optional<int>>> devices = {{0, {}}, {1, 0}, {1, 1}};
  for (const auto& [device, from] : devices) {
    const auto brought = runtime->bring_tensor(*index, device);
    ASSERT_TRUE(brought) << brought.error().message;
    EXPECT_EQ(*brought, from);
  }
}

TEST(Exchange, LocalRuntimesHaveNoExchange) {
  const auto runtime = Runtime::create();
  ASSERT_TRUE(runtime) << runtime.error().message;
  const auto model = runtime->load({.path = digits_package()});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(runtime->put_tensor(image()[0]).error().code, Code::kUnimplemented);
  EXPECT_EQ(runtime->get_tensor(1).error().code, Code::kUnimplemented);
  EXPECT_EQ(runtime->remove_tensor(1)->code, Code::kUnimplemented);
  EXPECT_EQ(runtime->bring_tensor(1, 0).error().code, Code::kUnimplemented);
  EXPECT_EQ(runtime->offer_tensor(1).error().code, Code::kUnimplemented);
  EXPECT_EQ(runtime->fetch_tensor("host:1", {1, "key"}).error().code, Code::kUnimplemented);
  EXPECT_EQ(model->infer({exchanged("image", 1)}).error().code, Code::kUnimplemented);
  EXPECT_EQ(model->infer(image(), {.kept = {"probabilities"}}).error().code, Code::kUnimplemented);
}

/// A daemon that offers tensors, and one that may fetch them.
class ExchangeBetweenDaemons : public ::testing::Test {
 protected:
  ExchangeBetweenDaemons() {
    std::ofstream(giver_folder_ / "tokens") << "knock inference guest\n";
    std::ofstream(taker_folder_ / "own") << "knock\n";
    giver_ = std::make_unique<DaemonProcess>(
        giver_folder_,
        std::vector<std::string>{"--exchange-listen", "127.0.0.1:0", "--exchange-plain",
                                 "--exchange-peers", "token:guest", "--token-file",
                                 (giver_folder_ / "tokens").string()});
    source_ = giver_->exchange_address();
    taker_ = std::make_unique<DaemonProcess>(
        taker_folder_,
        std::vector<std::string>{"--exchange-sources", source_, "--exchange-plain",
                                 "--exchange-token-file", (taker_folder_ / "own").string()});
  }
  static Runtime connect(const DaemonProcess& daemon) {
    auto runtime = Runtime::connect(daemon.address());
    EXPECT_TRUE(runtime) << runtime.error().message << daemon.output();
    return std::move(*runtime);
  }

  TempDir giver_folder_;
  TempDir taker_folder_;
  std::unique_ptr<DaemonProcess> giver_;
  std::unique_ptr<DaemonProcess> taker_;
  std::string source_;
};

TEST_F(ExchangeBetweenDaemons, TensorThatOneOffersIsFetchedByTheOther) {
  const auto there = connect(*giver_);
  const auto here = connect(*taker_);
  const std::vector<float> pixels(64, 0.5F);
  const auto index = there.put_tensor(tensor<float>("", pixels, {1, 1, 8, 8}));
  ASSERT_TRUE(index) << index.error().message;
  const auto offer = there.offer_tensor(*index);
  ASSERT_TRUE(offer) << offer.error().message;
  EXPECT_EQ(there.offer_tensor(*index)->key, offer->key) << "the same key each time";
  const auto copy = here.fetch_tensor(source_, *offer, {.timeout = std::chrono::minutes(5)});
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ(values(*here.get_tensor(*copy)), pixels);
  const auto model = here.load({.path = digits_package()});
  ASSERT_TRUE(model) << model.error().message;
  const auto reply = model->infer({exchanged("image", *copy)});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(values(*reply), values(*model->infer(image())));
}

TEST_F(ExchangeBetweenDaemons, WhatIsNotOfferedOrNotAllowedIsRefused) {
  const auto there = connect(*giver_);
  const auto here = connect(*taker_);
  const auto index = *there.put_tensor(image()[0]);
  auto offer = *there.offer_tensor(index);
  EXPECT_EQ(here.fetch_tensor("127.0.0.1:1", offer).error().code, Code::kPermissionDenied)
      << "no source of its settings";
  EXPECT_THAT(here.fetch_tensor(source_, offer, {.ttl = std::chrono::hours(2)}).error().message,
              HasSubstr("time to live"));
  EXPECT_EQ(here.fetch_tensor(source_, offer, {.timeout = Nanoseconds(-1)}).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(here.offer_tensor(*here.put_tensor(image()[0])).error().code, Code::kFailedPrecondition)
      << "it serves no peers";
  EXPECT_FALSE(there.remove_tensor(index));
  const auto gone = here.fetch_tensor(source_, offer);
  EXPECT_EQ(gone.error().code, Code::kNotFound);
  EXPECT_THAT(gone.error().message, HasSubstr("offer the tensor again"));
}

TEST_F(ExchangeBetweenDaemons, FetchFromASilentDaemonEndsAtItsTimeLimit) {
  const auto there = connect(*giver_);
  const auto here = connect(*taker_);
  const auto offer = *there.offer_tensor(*there.put_tensor(image()[0]));
  giver_->suspend();
  const auto late = here.fetch_tensor(source_, offer, {.timeout = std::chrono::milliseconds(50)});
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded) << late.error().message;
  giver_->end_abruptly();
}

}  // namespace
}  // namespace sluice::testing
