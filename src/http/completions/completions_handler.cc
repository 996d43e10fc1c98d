#include "http/completions/completions_handler.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/no_memory.h"
#include "dispatch/later_cancel.h"
#include "generate/text/package_text.h"
#include "http/completions/text_call.h"
#include "http/completions/text_format.h"
#include "http/completions/text_sinks.h"
#include "http/fields.h"
#include "http/openai_error.h"
#include "open_inference/models.h"
#include "open_inference/request.h"
#include "service/clients/client_memory.h"
#include "service/clients/peer.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace sluice::http {
namespace {

using terms::Role;

constexpr std::string_view kRoot = "/v1";
constexpr std::string_view kModels = "/models";
constexpr std::string_view kRerank = "/rerank";
/// Loads, answers and texts in the making need the memory that pages of texts that ended hold.
constexpr std::int64_t kPrefixShare = 8;
/// Between the names of a model and of its adapter.
constexpr char kAdapterMark = ':';
/// Where the second version of Cohere's API has /v1/rerank, and other servers.
constexpr std::array<std::string_view, 2> kRerankPaths = {"/v2/rerank", "/rerank"};

std::uint64_t random_seed() {
  std::random_device random;
  return (static_cast<std::uint64_t>(random()) << 32U) | random();
}

Result<TextCall> read_call(Protocol protocol, std::string_view body) {
  switch (protocol) {
    case Protocol::kCompletion: return read_completion(body);
    case Protocol::kChat: return read_chat(body);
    case Protocol::kGenerate: break;
  }
  return read_generate(body);
}

text::Chat chat_of(const TextCall& call, const text::ChatTemplate& chat_template) {
  text::Chat chat;
  chat.messages = call.messages;
  chat.variables = call.variables;
  chat.tools = call.tools.list;
  if (chat.tools.is_null() || knows_tools(chat_template, chat)) return chat;
  tell_tools(chat.messages, chat.tools);
  return chat;
}

/// The tokens of each prompt. Not found is a chat's template, not the model.
Result<std::vector<std::vector<std::int64_t>>> ids_of(const TextCall& call,
                                                      const completions::LanguageModel& language) {
  std::vector<std::vector<std::int64_t>> all;
  for (const Prompt& prompt : call.prompts) {
    auto ids = prompt.ids;
    if (ids.empty()) ids = SLUICE_TRY(generate::encode_prompt(language.tokenizer, prompt.text));
    all.push_back(std::move(ids));
  }
  if (call.messages.is_null()) return all;
  if (!language.chat.is_ok()) {
    return invalid_argument("the model takes no chats: {}", language.chat.status().message());
  }
  const text::Chat chat = chat_of(call, *language.chat);
  all.push_back(SLUICE_TRY(generate::encode_chat(language.tokenizer, *language.chat, chat)));
  return all;
}

}  // namespace

/// For PerModel: it parses a language model's chat template.
Result<std::shared_ptr<const CompletionsHandler::Listing>> CompletionsHandler::read_listing(
    const dispatch::ModelRef& model) {
  const auto executable = model.sink().executable();
  if (executable == nullptr) {
    return make_error(Code::kUnavailable, "the model is not in this process now");
  }
  auto listing = std::make_shared<Listing>();
  std::vector<std::string>& paths = listing->endpoints;
  if (completions::is_language_model(model)) {
    listing->adapters = SLUICE_TRY(generate::facts_of(executable->graph.metadata)).adapters;
    paths.emplace_back("/v1/completions");
    if (generate::read_chat_template(*executable).is_ok()) {
      paths.emplace_back("/v1/chat/completions");
    }
  } else if (completions::is_text_model(model)) {
    const bool has_vectors = std::ranges::any_of(
        model.signature().outputs, [](const auto& output) { return output.name == "vectors"; });
    paths.emplace_back(has_vectors ? "/v1/embeddings" : "/v1/rerank");
  }
  return std::shared_ptr<const Listing>(std::move(listing));
}

namespace {

/// Text of the prompt that the answer repeats; always empty for a chat.
Result<std::string> echo_of(const TextCall& call, std::size_t prompt,
                            const text::Tokenizer& tokenizer) {
  if (!call.echoes) return std::string();
  const Prompt& echoed = call.prompts[prompt];
  if (!echoed.text.empty()) return echoed.text;
  std::vector<text::TokenId> ids;
  for (const std::int64_t id : echoed.ids) ids.emplace_back(static_cast<std::int32_t>(id));
  return tokenizer.decode(ids);
}

/// Choices of one prompt differ by their seeds; the first has the client's own.
generate::Sampling sampling_of(const generate::WantedSampling& wanted,
                               const generate::Sampling& advice, std::int64_t choice) {
  generate::WantedSampling one = wanted;
  if (one.seed) *one.seed += static_cast<std::uint64_t>(choice);
  return one.over(advice, random_seed());
}

}  // namespace

/// A request for texts, from its coming to the end of its answer. Its client may go at any time.
struct CompletionsHandler::Job {
  Reply error(const Status& status) const {
    return protocol == Protocol::kGenerate ? error_reply(status) : openai_error(status);
  }

  const Protocol protocol;
  const Request request;
  const Answer answer;
  std::string name = {};  ///< of a generate route, as are the next two
  std::string version = {};
  bool is_streamed = false;
  service::Caller caller = {};
  dispatch::LaterCancel cancel = {};
  std::atomic<bool> has_failed = false;  ///< one of its texts
};

/// Generations that have not started, and what stands before their texts.
struct CompletionsHandler::Made {
  std::vector<std::shared_ptr<completions::Generation>> generations;
  std::vector<std::string> echoed;
  std::size_t num_prompts = 0;
};

/// The same, and how their texts are written.
struct CompletionsHandler::Prepared {
  Made texts;
  std::unique_ptr<TextFormat> format;
  bool is_streamed = false;
};

CompletionsHandler::CompletionsHandler(service::Service& service, Identify identify,
                                       std::int64_t cache_bytes)
    : service_(service), identify_(std::move(identify)), started_seconds_(unix_time_seconds()) {
  const auto& process = service::ClientMemory::process();
  texts_.caches = std::make_shared<ByteBudget>(cache_bytes, process);
  texts_.prefixes.set_limit(std::min(cache_bytes, process->limit_bytes()) / kPrefixShare);
}

CompletionsHandler::~CompletionsHandler() = default;

void CompletionsHandler::add_metrics(service::PrometheusText& to) const {
  to.begin("text_prompt_tokens_total", "counter", "Tokens of prompts whose texts began");
  to.add({}, texts_.num_prompt_tokens);
  to.begin("text_cached_tokens_total", "counter",
           "Tokens of prompts that other texts had computed");
  to.add({}, texts_.num_cached_tokens);
  to.begin("text_cache_bytes", "gauge", "Keys and values of texts, and of prefixes that are kept");
  to.add({}, texts_.caches->held_bytes());
}

bool CompletionsHandler::takes(std::string_view path) {
  if (std::ranges::find(kRerankPaths, path) != kRerankPaths.end()) return true;
  return path.starts_with(kRoot) && (path.size() == kRoot.size() || path[kRoot.size()] == '/');
}

Cancel CompletionsHandler::handle(const Request& request, const Answer& answer) {
  std::string_view path = request.path;
  path.remove_prefix(path.starts_with(kRoot) ? kRoot.size() : path.find(kRerank));
  if (path.ends_with('/')) path.remove_suffix(1);  // adds nothing
  const bool is_chat = path == "/chat/completions";
  const bool is_text = is_chat || path == "/completions";
  if (!is_text && !EmbeddingsHandler::takes(path)) return answer_now(answer, look(request, path));
  if (request.method != "POST") return answer_now(answer, wrong_openai_method("POST"));
  if (request.body->size() > Fields::kMaxBodyBytes) {
    return answer_now(answer, too_large_for_openai(request.body->size(), Fields::kMaxBodyBytes));
  }
  if (!is_text) return embeddings_.handle(request, path, answer);
  const Protocol protocol = is_chat ? Protocol::kChat : Protocol::kCompletion;
  return start(std::shared_ptr<Job>(new Job{protocol, request, first_of(answer)}));
}

/// What is no request for a text: /models and /models/NAME, or nothing.
Reply CompletionsHandler::look(const Request& request, std::string_view path) {
  if (!path.starts_with(kModels)) return no_openai_path();
  path.remove_prefix(kModels.size());
  if (!path.empty() && path.front() != '/') return no_openai_path();
  // TensorFlow Serving's and KServe's first protocol are not served.
  if (request.method == "POST" && path.ends_with(":predict")) return no_openai_path();
  if (request.method != "GET" && request.method != "HEAD") return wrong_openai_method("GET, HEAD");
  const auto list = [&]() -> Result<std::string> {
    return list_models(request, SLUICE_TRY(decode_path(path.empty() ? path : path.substr(1))));
  };
  auto text = list();
  if (!text.is_ok()) return openai_error(text.status());
  Reply reply;
  reply.text = std::move(*text);
  return reply;
}

/// All, or the one of this name.
Result<std::string> CompletionsHandler::list_models(const Request& request, std::string_view name) {
  using Json = nlohmann::ordered_json;
  const auto caller = SLUICE_TRY(identify_(request, Role::kInference));
  Json list = Json::array();
  for (const terms::ModelEntry& entry : SLUICE_TRY(service_.list_models(0))) {
    const bool is_asked = name.empty() || name == entry.info.name;
    if (!is_asked && !name.starts_with(entry.info.name + kAdapterMark)) continue;
    const auto model = service_.find_model(caller, entry.info.name, {entry.version});
    if (!model.is_ok()) continue;
    const auto listing = listings_.find(*model);
    if (!listing.is_ok() || (*listing)->endpoints.empty()) continue;
    Json one = {{"id", entry.info.name},
                {"object", "model"},
                {"created", started_seconds_},
                {"owned_by", open_inference::kServerName},
                {"endpoints", (*listing)->endpoints}};
    if (name == entry.info.name) return one.dump();
    if (is_asked && std::ranges::find(list, one) != list.end()) continue;  // a version
    if (is_asked) list.push_back(one);
    for (const std::string& adapter : (*listing)->adapters) {
      one["id"] = entry.info.name + kAdapterMark + adapter;
      one["parent"] = entry.info.name;
      if (name == one["id"]) return one.dump();
      if (is_asked) list.push_back(one);
    }
  }
  if (name.empty()) return Json({{"object", "list"}, {"data", std::move(list)}}).dump();
  return make_error(Code::kNotFound, "no model \"{}\" takes texts", name.substr(0, 64));
}

Cancel CompletionsHandler::generate(const Request& request, const std::string& name,
                                    const std::string& version, bool is_streamed,
                                    const Answer& answer) {
  if (request.body->size() > Fields::kMaxBodyBytes) {
    return answer_now(answer,
                      error_reply(413, fmt::format("the body has {} bytes; at most {} are read",
                                                   request.body->size(), Fields::kMaxBodyBytes)));
  }
  return start(std::shared_ptr<Job>(
      new Job{Protocol::kGenerate, request, first_of(answer), name, version, is_streamed}));
}

void CompletionsHandler::drain(std::int64_t deadline_ns) {
  texts_.is_draining = true;
  while (texts_.num_texts > 0 && system_clock().now_ns() < deadline_ns) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Identifies the client before a thread reads the body.
Cancel CompletionsHandler::start(const std::shared_ptr<Job>& job) {
  const auto work = [this, job] {
    const Status done = catch_no_memory([&] { return run(job); });
    if (done.is_ok()) return;
    job->answer(job->error(done));
    job->cancel.cancel();
  };
  const auto post = [&]() -> Status {
    job->caller = SLUICE_TRY(identify_(job->request, Role::kInference));
    return threads_.run(service::account_of(job->caller.peer), work);
  };
  if (const Status status = post(); !status.is_ok()) job->answer(job->error(status));
  return [job] { job->cancel.cancel(); };
}

namespace {

/// A stream outlives its generations, and each holds its sink, and so the stream, until its end.
std::function<void()> resume_all(
    const std::vector<std::shared_ptr<completions::Generation>>& generations) {
  return [texts = std::vector<std::weak_ptr<completions::Generation>>(generations.begin(),
                                                                      generations.end())] {
    for (const auto& weak : texts) {
      if (const auto text = weak.lock()) text->resume();
    }
  };
}

}  // namespace

Result<CompletionsHandler::Prepared> CompletionsHandler::prepare(const Job& job) {
  TextCall call = SLUICE_TRY(read_call(job.protocol, job.request.body->bytes()));
  const std::string& name = job.protocol == Protocol::kGenerate ? job.name : call.model;
  const auto model = SLUICE_TRY(find_model(job, name, call));
  if (job.request.observation != nullptr) {
    job.request.observation->set_model(model->name(), model->version());
  }
  Prepared prepared;
  prepared.texts = SLUICE_TRY(
      make(call, model, service::account_of(job.caller.peer), service_.limits_of(job.caller)));
  prepared.is_streamed = call.is_streamed || job.is_streamed;
  if (job.protocol == Protocol::kGenerate) {
    prepared.format = make_generate_format({name, std::to_string(model->version()), call.id});
  } else {
    prepared.format = make_openai_format(
        {name, job.protocol == Protocol::kChat, call.includes_usage, prepared.texts.num_prompts,
         static_cast<std::size_t>(call.num_choices), call.tools.use});
  }
  return prepared;
}

/// OpenAI's clients name an adapter behind its model: "chat:sql". A model of the whole name goes
/// first.
Result<std::shared_ptr<dispatch::ModelRef>> CompletionsHandler::find_model(const Job& job,
                                                                           const std::string& name,
                                                                           TextCall& call) {
  auto model = open_inference::find_model(service_, job.caller, name, job.version);
  const std::size_t colon = name.rfind(kAdapterMark);
  if (model.is_ok() || job.protocol == Protocol::kGenerate || colon == std::string::npos) {
    return model;
  }
  auto base = open_inference::find_model(service_, job.caller, name.substr(0, colon), job.version);
  if (!base.is_ok()) return model;
  call.adapter = name.substr(colon + 1);
  return base;
}

Result<CompletionsHandler::Made> CompletionsHandler::make(
    TextCall& call, const std::shared_ptr<dispatch::ModelRef>& model, const std::string& account,
    const dispatch::RequestLimits& limits) {
  const auto language = SLUICE_TRY(languages_.find(model).with_context(
      fmt::format("model \"{}\"", model->name().substr(0, 64))));
  // An unload frees the pages of its texts though nobody asks for texts any more.
  SLUICE_TRY(texts_.retries.repeat([this] { languages_.forget_unloaded(); }));
  completions::TextRequest wanted;
  wanted.tokens.max_tokens = call.max_tokens;
  wanted.tokens.top_logprobs = call.top_logprobs;
  wanted.tokens.stops = call.stop_ids;
  wanted.tokens.adapter = call.adapter;
  wanted.tokens.grammar = SLUICE_TRY(language->grammars->find(call.grammar));
  wanted.stops = call.stops;
  wanted.deadline_ns = open_inference::deadline_of(call.timeout_us, kNoDeadline, model->clock());
  wanted.priority = open_inference::priority_of(call.priority);
  wanted.account = accounts_.number_of(account);
  call.sampling.bad_words =
      SLUICE_TRY(generate::encode_bad_words(language->tokenizer, call.bad_words));
  const auto prompts = SLUICE_TRY(ids_of(call, *language));
  Made made;
  made.num_prompts = prompts.size();
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::string echoed = SLUICE_TRY(echo_of(call, i, language->tokenizer));
    for (std::int64_t choice = 0; choice < call.num_choices; ++choice) {
      wanted.tokens.prompt = prompts[i];
      wanted.tokens.sampling = sampling_of(call.sampling, language->facts.sampling, choice);
      made.echoed.push_back(echoed);
      made.generations.push_back(
          SLUICE_TRY(completions::Generation::create(model, language, wanted, texts_, limits)));
    }
  }
  return made;
}

void CompletionsHandler::start_text(completions::GenerateCall call,
                                    std::shared_ptr<completions::StartedText> text,
                                    std::shared_ptr<completions::TextSink> sink) {
  const auto end = [sink](const Status& status) {
    completions::Ending ending;
    ending.status = status;
    sink->end(ending);
  };
  const auto shared = std::make_shared<const completions::GenerateCall>(std::move(call));
  const auto work = [this, shared, text = std::move(text), sink = std::move(sink), end] {
    const Status done = catch_no_memory([&] { return run_text(*shared, *text, sink); });
    if (!done.is_ok()) end(done);
  };
  if (const Status status = threads_.run(shared->account, work); !status.is_ok()) end(status);
}

/// Not ok: the sink has yet to learn of it.
Status CompletionsHandler::run_text(const completions::GenerateCall& call,
                                    completions::StartedText& text,
                                    const std::shared_ptr<completions::TextSink>& sink) {
  if (texts_.is_draining) {
    return make_error(Code::kUnavailable, "the daemon is shutting down");
  }
  TextCall wanted = SLUICE_TRY(read_generate(call.body));
  const Made made = SLUICE_TRY(make(wanted, call.model, call.account, call.limits));
  const auto& generation = made.generations.front();
  text.set(generation);
  if (!made.echoed.front().empty()) sink->take({made.echoed.front()});
  return generation->start(sink);
}

/// Not ok: the caller answers, and cancels what has started.
Status CompletionsHandler::run(const std::shared_ptr<Job>& job) {
  if (texts_.is_draining) {
    return make_error(Code::kUnavailable, "the daemon is shutting down");
  }
  Prepared prepared = SLUICE_TRY(prepare(*job));
  const auto fail = [job] {
    job->has_failed = true;
    job->cancel.cancel();
  };
  TextSinks sinks;
  std::optional<Reply> events;
  if (prepared.is_streamed) {
    events.emplace();
    events->type = kEvents;
    events->stream = std::make_shared<ReplyStream>(resume_all(prepared.texts.generations));
    sinks =
        make_stream_sinks(std::move(prepared.format), prepared.texts.echoed, events->stream, fail);
  } else {
    sinks = make_whole_sinks(
        std::move(prepared.format), std::move(prepared.texts.echoed),
        [job](Reply reply) { job->answer(std::move(reply)); },
        [job](const Status& status) { return job->error(status); }, fail);
  }
  job->cancel.set([generations = prepared.texts.generations] {
    for (const auto& generation : generations) generation->cancel();
  });
  SLUICE_TRY(start_texts(prepared.texts.generations, std::move(sinks), job->has_failed));
  if (events) job->answer(std::move(*events));
  return ok_status();
}

}  // namespace sluice::http
