// A text is computed without the GIL. The library asks while it computes whether to end; the answer
// takes the GIL and lets Python handle its signals.
#include "language.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sluice/generate.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calls/calls.h"
#include "calls/errors.h"
#include "calls/process.h"
#include "model.h"

namespace sluice::python {
namespace {

using Clock = std::chrono::steady_clock;

/// Between two looks at signals: a look waits for the GIL.
constexpr auto kLookEvery = std::chrono::milliseconds(50);

/// In C a text ends with its first NUL. Borrows the text.
const char* without_nul(const std::string& text) {
  if (text.find('\0') == std::string::npos) return text.c_str();
  throw Failure(Code::kInvalidArgument, "a text has a NUL character; leave it out");
}

std::vector<const char*> views_of(const std::vector<std::string>& texts) {
  std::vector<const char*> views;
  for (const std::string& text : texts) views.push_back(without_nul(text));
  return views;
}

nb::str taken(const sluice_string* given) {
  const Snapshot<sluice_string> text(given);
  return nb::str(text->data, text->size_bytes);
}

/// Any thread may use it.
class NativeTokenizer {
 public:
  explicit NativeTokenizer(NativeModel& model) {
    sluice_tokenizer* made = nullptr;
    without_gil([&] {
      model.use([&](sluice_model* handle) { check(sluice_tokenizer_create(handle, &made)); });
    });
    handle_.reset(made);
  }

  std::size_t size() const { return sluice_tokenizer_vocabulary_size(handle_.get()); }
  std::int64_t find(const std::string& piece) const {
    if (piece.find('\0') != std::string::npos) return -1;
    return sluice_tokenizer_find(handle_.get(), piece.c_str());
  }
  nb::str piece(std::int64_t id) const {
    const sluice_string* text = nullptr;
    check(sluice_tokenizer_piece(handle_.get(), id, &text));
    return taken(text);
  }
  std::vector<std::int64_t> encode(const std::string& text, std::uint32_t flags) const {
    const auto tokens = snapshot<sluice_tokens>([&](const sluice_tokens** made) {
      return sluice_tokenizer_encode(handle_.get(), text.data(), text.size(), flags, made);
    });
    return {tokens->ids, tokens->ids + tokens->num_ids};
  }
  nb::str decode(const std::vector<std::int64_t>& ids, std::uint32_t flags) const {
    const sluice_string* text = nullptr;
    without_gil([&] {
      check(sluice_tokenizer_decode(handle_.get(), ids.data(), ids.size(), flags, &text));
    });
    return taken(text);
  }
  nb::str apply_chat_template(const std::string& chat) const {
    const sluice_string* text = nullptr;
    without_gil(
        [&] { check(sluice_tokenizer_apply_chat_template(handle_.get(), chat.c_str(), &text)); });
    return taken(text);
  }

 private:
  struct Free {
    void operator()(sluice_tokenizer* tokenizer) const { sluice_tokenizer_free(tokenizer); }
  };
  std::unique_ptr<sluice_tokenizer, Free> handle_;
};

/// Use it from one thread at a time. In a forked child calls fail, and destruction leaks: the
/// worker threads of the model do not exist.
class NativeGenerator {
 public:
  explicit NativeGenerator(NativeModel& model) {
    sluice_generator* made = nullptr;
    without_gil([&] {
      model.use([&](sluice_model* handle) { check(sluice_generator_create(handle, &made)); });
    });
    handle_.reset(made);
  }
  ~NativeGenerator() {
    if (generation_ != fork_generation()) static_cast<void>(handle_.release());
  }
  NativeGenerator(const NativeGenerator&) = delete;
  NativeGenerator& operator=(const NativeGenerator&) = delete;

  void start(const std::optional<std::string>& prompt,
             const std::optional<std::vector<std::int64_t>>& ids,
             const std::optional<std::string>& chat, std::optional<std::int64_t> max_tokens,
             std::optional<float> temperature, std::optional<std::int64_t> top_k,
             std::optional<float> top_p, std::optional<float> min_p,
             std::optional<float> repetition_penalty, std::optional<float> presence_penalty,
             std::optional<float> frequency_penalty,
             const std::vector<std::pair<std::int64_t, float>>& logit_bias,
             const std::vector<std::string>& bad_words, std::optional<std::uint64_t> seed,
             std::optional<std::int64_t> top_logprobs, const std::vector<std::string>& stop,
             const std::vector<std::int64_t>& stop_ids, const std::optional<std::string>& schema,
             const std::optional<std::string>& grammar, const std::optional<std::string>& adapter) {
    static constexpr std::int64_t kNoId = 0;
    sluice_generate_request request = {};
    request.struct_size = sizeof(request);
    if (prompt) request.prompt = prompt->c_str();
    request.prompt_bytes = prompt ? prompt->size() : 0;
    if (ids) request.ids = ids->empty() ? &kNoId : ids->data();
    request.num_ids = ids ? ids->size() : 0;
    if (chat) request.chat = chat->c_str();
    const auto give = [&](const auto& wanted, auto& field, std::uint32_t flag) {
      if (!wanted) return;
      field = *wanted;
      request.given |= flag;
    };
    give(max_tokens, request.max_tokens, SLUICE_GIVEN_MAX_TOKENS);
    give(top_logprobs, request.top_logprobs, SLUICE_GIVEN_TOP_LOGPROBS);
    give(temperature, request.temperature, SLUICE_GIVEN_TEMPERATURE);
    give(top_k, request.top_k, SLUICE_GIVEN_TOP_K);
    give(top_p, request.top_p, SLUICE_GIVEN_TOP_P);
    give(min_p, request.min_p, SLUICE_GIVEN_MIN_P);
    give(repetition_penalty, request.repetition_penalty, SLUICE_GIVEN_REPETITION_PENALTY);
    give(presence_penalty, request.presence_penalty, SLUICE_GIVEN_PRESENCE_PENALTY);
    give(frequency_penalty, request.frequency_penalty, SLUICE_GIVEN_FREQUENCY_PENALTY);
    give(seed, request.seed, SLUICE_GIVEN_SEED);
    std::vector<sluice_logit_bias> biases;
    for (const auto& [token, bias] : logit_bias) biases.push_back({token, bias, 0});
    request.logit_bias = biases.data();
    request.num_logit_bias = biases.size();
    const std::vector<const char*> words = views_of(bad_words);
    request.bad_words = words.data();
    request.num_bad_words = words.size();
    const std::vector<const char*> stops = views_of(stop);
    request.stops = stops.data();
    request.num_stops = stops.size();
    request.stop_ids = stop_ids.data();
    request.num_stop_ids = stop_ids.size();
    if (schema) request.schema = without_nul(*schema);
    if (grammar) request.grammar = without_nul(*grammar);
    if (adapter) request.adapter = without_nul(*adapter);
    request.is_stopped = &has_signal;
    request.user_data = this;
    require_process(generation_);
    without_gil([&] { check(sluice_generator_start(handle_.get(), &request)); });
  }

  /// A text, its token, or None for the rest of a text, and (log probability, list of the likeliest
  /// tokens with theirs) or None; None at its end. A signal whose handler
  /// raises an exception, as Ctrl-C does, ends the text with it.
  nb::object next() {
    const sluice_piece* piece = nullptr;
    require_process(generation_);
    has_raised_ = false;
    without_gil([&] { check(sluice_generator_next(handle_.get(), &piece)); });
    if (has_raised_) throw nb::python_error();
    if (piece == nullptr) return nb::none();
    const nb::object token = piece->token < 0 ? nb::none() : nb::object(nb::int_(piece->token));
    nb::object logprobs = nb::none();
    if (piece->has_logprobs != 0) {
      nb::list top;
      for (std::size_t i = 0; i < piece->num_top; ++i) {
        top.append(nb::make_tuple(piece->top[i].token, piece->top[i].logprob));
      }
      logprobs = nb::make_tuple(piece->logprob, top);
    }
    return nb::make_tuple(nb::str(piece->text, piece->size_bytes), token, logprobs);
  }

  std::int32_t finish() const { return sluice_generator_finish(handle_.get()); }
  std::int64_t num_prompt_tokens() const {
    return sluice_generator_num_prompt_tokens(handle_.get());
  }
  std::int64_t context() const { return sluice_generator_context(handle_.get()); }

 private:
  /// Called by a thread in `next`, without the GIL.
  static std::int32_t has_signal(void* user_data) {
    auto& self = *static_cast<NativeGenerator*>(user_data);
    const auto now = Clock::now();
    if (now - self.looked_ < kLookEvery) return 0;
    self.looked_ = now;
    const nb::gil_scoped_acquire acquired;
    self.has_raised_ = PyErr_CheckSignals() != 0;
    return self.has_raised_ ? 1 : 0;
  }

  struct Free {
    void operator()(sluice_generator* generator) const { sluice_generator_free(generator); }
  };
  std::uint32_t generation_ = fork_generation();
  Clock::time_point looked_ = {};
  bool has_raised_ = false;  ///< Python's error is set
  std::unique_ptr<sluice_generator, Free> handle_;
};

/// Use it from one thread at a time. In a forked child as NativeGenerator.
class NativeEmbedder {
 public:
  explicit NativeEmbedder(NativeModel& model) {
    sluice_embedder* made = nullptr;
    without_gil([&] {
      model.use([&](sluice_model* handle) { check(sluice_embedder_create(handle, &made)); });
    });
    handle_.reset(made);
  }
  ~NativeEmbedder() {
    if (generation_ != fork_generation()) static_cast<void>(handle_.release());
  }
  NativeEmbedder(const NativeEmbedder&) = delete;
  NativeEmbedder& operator=(const NativeEmbedder&) = delete;

  std::int64_t width() const { return sluice_embedder_width(handle_.get()); }
  std::int64_t context() const { return sluice_embedder_context(handle_.get()); }

  /// f32[texts, width].
  nb::bytes embed(const std::vector<std::string>& texts) {
    require_process(generation_);
    const auto views = views_of(texts);
    std::vector<float> vectors(texts.size() * static_cast<std::size_t>(width()));
    without_gil([&] {
      check(sluice_embedder_embed(handle_.get(), views.data(), views.size(), vectors.data()));
    });
    return bytes_of(vectors);
  }
  /// f32[documents].
  nb::bytes score(const std::string& query, const std::vector<std::string>& documents) {
    require_process(generation_);
    const char* const asked = without_nul(query);
    const auto views = views_of(documents);
    std::vector<float> scores(documents.size());
    without_gil([&] {
      check(sluice_embedder_score(handle_.get(), asked, views.data(), views.size(), scores.data()));
    });
    return bytes_of(scores);
  }

 private:
  static nb::bytes bytes_of(const std::vector<float>& numbers) {
    return nb::bytes(numbers.data(), numbers.size() * sizeof(float));
  }

  struct Free {
    void operator()(sluice_embedder* embedder) const { sluice_embedder_free(embedder); }
  };
  std::uint32_t generation_ = fork_generation();
  std::unique_ptr<sluice_embedder, Free> handle_;
};

}  // namespace

void bind_language(nb::module_& module) {
  nb::class_<NativeTokenizer>(module, "Tokenizer",
                              "A model's tokenizer; sluice.Tokenizer wraps it.")
      .def(nb::init<NativeModel&>(), nb::arg("model"))
      .def("size", &NativeTokenizer::size)
      .def("find", &NativeTokenizer::find, nb::arg("piece"))
      .def("piece", &NativeTokenizer::piece, nb::arg("id"))
      .def("encode", &NativeTokenizer::encode, nb::arg("text"), nb::arg("flags"))
      .def("decode", &NativeTokenizer::decode, nb::arg("ids"), nb::arg("flags"))
      .def("apply_chat_template", &NativeTokenizer::apply_chat_template, nb::arg("chat"));
  nb::class_<NativeGenerator>(module, "Generator",
                              "Writes a text at a time; sluice.Generation has one.")
      .def(nb::init<NativeModel&>(), nb::arg("model"))
      .def("start", &NativeGenerator::start, nb::arg("prompt").none(), nb::arg("ids").none(),
           nb::arg("chat").none(), nb::arg("max_tokens").none(), nb::arg("temperature").none(),
           nb::arg("top_k").none(), nb::arg("top_p").none(), nb::arg("min_p").none(),
           nb::arg("repetition_penalty").none(), nb::arg("presence_penalty").none(),
           nb::arg("frequency_penalty").none(), nb::arg("logit_bias"), nb::arg("bad_words"),
           nb::arg("seed").none(), nb::arg("top_logprobs").none(), nb::arg("stop"),
           nb::arg("stop_ids"), nb::arg("schema").none(), nb::arg("grammar").none(),
           nb::arg("adapter").none())
      .def("next", &NativeGenerator::next)
      .def("finish", &NativeGenerator::finish)
      .def("num_prompt_tokens", &NativeGenerator::num_prompt_tokens)
      .def("context", &NativeGenerator::context);
  nb::class_<NativeEmbedder>(module, "Embedder",
                             "Makes vectors or scores of texts; sluice.Model.embed has one.")
      .def(nb::init<NativeModel&>(), nb::arg("model"))
      .def("width", &NativeEmbedder::width)
      .def("context", &NativeEmbedder::context)
      .def("embed", &NativeEmbedder::embed, nb::arg("texts"))
      .def("score", &NativeEmbedder::score, nb::arg("query"), nb::arg("documents"));
}

}  // namespace sluice::python
