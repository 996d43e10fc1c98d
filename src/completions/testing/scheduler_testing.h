// A scheduler over a model that a test answers for.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_budget.h"
#include "base/clock.h"
#include "completions/generation.h"
#include "completions/scheduler.h"
#include "support/manual_clock.h"
#include "terms/runtime_code.h"

namespace sluice::completions {

using runtime::Reply;
using runtime::Request;
using Longs = std::vector<std::int64_t>;

inline constexpr std::int64_t kContext = 1000;
inline constexpr std::int64_t kVocabulary = 3;  ///< "a", "b", and 2, which ends texts
inline constexpr std::int64_t kPageBytes = 2 * 32 * 4;

/// Keeps requests until `answer`, or fails them at once.
class FakeSink final : public runtime::RequestSink {
 public:
  FakeSink() {
    const auto add = [](std::vector<terms::TensorSpec>& to, const char* name, const char* type) {
      to.push_back({name, ir::parse_type(type).value()});
    };
    for (const char* name : {"ids", "positions", "sequences"}) {
      add(signature_.inputs, name, "i64[S]");
    }
    add(signature_.inputs, "tables", "i64[N,B]");
    add(signature_.inputs, "last", "i64[N]");
    add(signature_.outputs, "logits", "f32[N,3]");
    for (const char* name : {"state.keys.0", "state.values.0"}) {
      add(signature_.inputs, name, "f32[P,1,32,1]");
      add(signature_.outputs, (std::string(name) + ".next").c_str(), "f32[P,1,32,1]");
    }
  }
  const terms::Signature& signature() const override { return signature_; }
  int depth() const override { return 1; }
  Clock& clock() const override { return time; }
  Result<std::uint64_t> submit(Request& request) override {
    std::unique_lock lock(mutex);
    changed.notify_all();
    if (!refusal.is_ok()) {
      ++num_refused;
      return refusal;
    }
    requests.push_back(std::move(request));
    const std::size_t id = requests.size();
    lock.unlock();
    if (fails_at_once) answer(RuntimeCode::kModelFailed, id - 1);
    return id;
  }
  bool cancel(std::uint64_t id) override {
    answer(RuntimeCode::kCancelled, static_cast<std::size_t>(id - 1));
    return true;
  }
  bool wait(const std::function<bool()>& is_done, std::int64_t) override { return is_done(); }
  void tell_waiters() override {}

  /// Every text's next token is `token`.
  void answer_with(std::int64_t token) {
    const auto& [memory, bytes] = requests.back().outputs[0];
    auto* logits = static_cast<float*>(memory);
    for (std::int64_t i = 0; i < bytes / 4; ++i) logits[i] = i % kVocabulary == token ? 1 : 0;
    answer(RuntimeCode::kOk, requests.size() - 1);
  }
  void answer(RuntimeCode code, std::size_t i) {
    Reply reply;
    reply.code = code;
    if (code != RuntimeCode::kOk) reply.errors.add(terms::runtime_error(code, "the run failed"));
    const auto on_done = std::exchange(requests[i].on_done, nullptr);
    if (on_done != nullptr) on_done(reply);
  }
  Longs numbers(std::size_t input) const {
    const terms::TensorView& view = requests.back().inputs[input];
    const auto* first = static_cast<const std::int64_t*>(view.data);
    return Longs(first, first + view.size_bytes / 8);
  }

  /// Until another thread has brought so many.
  bool wait_for(std::size_t num_steps, int refused = 0) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::minutes(1),
                            [&] { return requests.size() >= num_steps && num_refused >= refused; });
  }
  void refuse(Status status) {
    const std::lock_guard lock(mutex);
    refusal = std::move(status);
  }

  mutable ManualClock time;
  std::mutex mutex;  ///< of what follows, where the retry thread submits
  std::condition_variable changed;
  Status refusal;
  int num_refused = 0;
  bool fails_at_once = false;
  std::vector<Request> requests;

 private:
  terms::Signature signature_;
};

struct Heard {
  std::string text;
  std::vector<Piece> pieces;
  std::vector<Ending> endings;
  bool is_full = false;
};

class HearingSink final : public TextSink {
 public:
  explicit HearingSink(Heard& heard) : heard_(heard) {}
  bool take(const Piece& piece) override {
    heard_.text += piece.text;
    heard_.pieces.push_back(piece);
    return !heard_.is_full;
  }
  void end(const Ending& ending) override { heard_.endings.push_back(ending); }

 private:
  Heard& heard_;
};

class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTest() {
    generate::Facts facts;
    facts.context = kContext;
    facts.stops = {2};
    facts.adapters = {"a", "b"};
    const auto ports = generate::find_ports(sink_->signature()).value();
    auto tokenizer = text::Tokenizer::read(
        R"({"version":"1.0","model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2},"merges":[]}})");
    language_ = std::make_shared<const LanguageModel>(
        LanguageModel{facts, ports, std::move(tokenizer).value(), Status(Code::kNotFound, "none"),
                      std::make_shared<Scheduler>(facts, ports), nullptr});
    budget(1 << 20);
  }
  ~SchedulerTest() override { sink_->requests.clear(); }

  void budget(std::int64_t bytes) { shared_.caches = std::make_shared<ByteBudget>(bytes); }

  std::shared_ptr<Generation> make(Longs prompt, TextRequest request = {},
                                   std::int64_t max_run_ns = 0) {
    request.tokens.prompt = std::move(prompt);
    auto made =
        Generation::create(model_, language_, std::move(request), shared_, {quota_, max_run_ns});
    return std::move(made).value();
  }
  Status start(const std::shared_ptr<Generation>& text, Heard& heard) {
    return text->start(std::make_shared<HearingSink>(heard));
  }
  std::size_t num_steps() const { return sink_->requests.size(); }
  /// Bytes of pages that texts and runs have.
  std::int64_t held_bytes() {
    while (language_->scheduler->prefixes().give_back()) {
    }
    return shared_.caches->held_bytes();
  }

  std::shared_ptr<FakeSink> sink_ = std::make_shared<FakeSink>();
  std::shared_ptr<dispatch::ModelRef> model_ =
      std::make_shared<dispatch::ModelRef>(sink_, std::vector<bool>(), false);
  std::shared_ptr<dispatch::RequestQuota> quota_ = std::make_shared<dispatch::RequestQuota>(99);
  Shared shared_;
  std::shared_ptr<const LanguageModel> language_;
};

}  // namespace sluice::completions
