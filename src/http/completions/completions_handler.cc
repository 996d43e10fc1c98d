#include "http/completions/completions_handler.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/no_memory.h"
#include "generate/text/package_text.h"
#include "http/completions/text_call.h"
#include "http/completions/text_format.h"
#include "http/completions/text_sinks.h"
#include "open_inference/models.h"
#include "open_inference/request.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace sluice::http {
namespace {

using terms::Role;

constexpr std::string_view kRoot = "/v1";

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

/// The tokens of the prompt. Not found is a chat's template, not the model.
Result<std::vector<std::int64_t>> ids_of(const TextCall& call,
                                         const completions::LanguageModel& language) {
  if (!call.ids.empty()) return call.ids;
  if (call.messages.is_null()) return generate::encode_prompt(language.tokenizer, call.prompt);
  if (!language.chat.is_ok()) {
    return invalid_argument("the model takes no chats: {}", language.chat.status().message());
  }
  text::Chat chat;
  chat.messages = call.messages;
  chat.variables = call.variables;
  return generate::encode_chat(language.tokenizer, *language.chat, chat);
}

Result<std::string> echo_of(const TextCall& call, const text::Tokenizer& tokenizer) {
  if (!call.echoes || !call.prompt.empty()) return call.echoes ? call.prompt : "";
  std::vector<text::TokenId> ids;
  for (const std::int64_t id : call.ids) ids.emplace_back(static_cast<std::int32_t>(id));
  return tokenizer.decode(ids);
}

}  // namespace

/// A request for a text, from its coming to the end of its answer. Its client may go at any time.
class CompletionsHandler::Job {
 public:
  Job(Protocol of_protocol, Request of_request, Answer to)
      : protocol(of_protocol), request(std::move(of_request)), answer(std::move(to)) {}

  void cancel() {
    std::shared_ptr<completions::Generation> generation;
    {
      const std::lock_guard lock(mutex_);
      is_cancelled_ = true;
      generation = generation_;
    }
    if (generation != nullptr) generation->cancel();
  }
  /// Cancels it now if the client has gone already.
  void set(const std::shared_ptr<completions::Generation>& generation) {
    {
      const std::lock_guard lock(mutex_);
      generation_ = generation;
      if (!is_cancelled_) return;
    }
    generation->cancel();
  }
  Reply error(const Status& status) const {
    return protocol == Protocol::kGenerate ? error_reply(status) : openai_error(status);
  }

  const Protocol protocol;
  const Request request;
  const Answer answer;
  std::string name;  ///< of a generate route, as are the next two
  std::string version;
  bool is_streamed = false;

 private:
  std::mutex mutex_;
  bool is_cancelled_ = false;
  std::shared_ptr<completions::Generation> generation_;
};

/// A generation that has not started.
struct CompletionsHandler::Prepared {
  std::shared_ptr<completions::Generation> generation;
  std::unique_ptr<TextFormat> format;
  std::string echoed;
  bool is_streamed = false;
};

CompletionsHandler::CompletionsHandler(service::Service& service, Identify identify,
                                       std::int64_t cache_bytes)
    : service_(service), identify_(std::move(identify)), started_seconds_(std::time(nullptr)) {
  texts_.caches = std::make_shared<ByteBudget>(cache_bytes);
}

CompletionsHandler::~CompletionsHandler() = default;

namespace {

Reply wrong_openai_method(std::string allowed) {
  Reply reply = openai_error(invalid_argument("this path takes {}", allowed));
  reply.status = 405;
  reply.allow = std::move(allowed);
  return reply;
}

}  // namespace

bool CompletionsHandler::takes(std::string_view path) {
  return path.starts_with(kRoot) && (path.size() == kRoot.size() || path[kRoot.size()] == '/');
}

Cancel CompletionsHandler::handle(const Request& request, const Answer& answer) {
  std::string_view path = request.path;
  path.remove_prefix(kRoot.size());
  const bool is_chat = path == "/chat/completions";
  if (is_chat || path == "/completions") {
    if (request.method == "POST") {
      return start(std::make_shared<Job>(is_chat ? Protocol::kChat : Protocol::kCompletion, request,
                                         answer));
    }
    answer(wrong_openai_method("POST"));
    return nullptr;
  }
  if (request.method != "GET" && request.method != "HEAD") {
    answer(wrong_openai_method("GET, HEAD"));
    return nullptr;
  }
  auto reply = look(request, path);
  answer(reply.is_ok() ? std::move(*reply) : openai_error(reply.status()));
  return nullptr;
}

Result<Reply> CompletionsHandler::look(const Request& request, std::string_view path) {
  constexpr std::string_view kModels = "/models";
  if (!path.starts_with(kModels)) {
    return make_error(Code::kNotFound,
                      "no such path; there are /v1/models, /v1/completions, /v1/chat/completions");
  }
  path.remove_prefix(kModels.size());
  if (!path.empty() && path.front() != '/') return make_error(Code::kNotFound, "no such path");
  const std::string name = SLUICE_TRY(decode_path(path.empty() ? path : path.substr(1)));
  Reply reply;
  reply.text = SLUICE_TRY(list_models(request, name));
  return reply;
}

/// All, or the one of this name.
Result<std::string> CompletionsHandler::list_models(const Request& request, std::string_view name) {
  using Json = nlohmann::ordered_json;
  const auto caller = SLUICE_TRY(identify_(request, Role::kInference));
  Json list = Json::array();
  for (const terms::ModelEntry& entry : SLUICE_TRY(service_.list_models(0))) {
    if (!name.empty() && entry.info.name != name) continue;
    const auto model = service_.find_model(caller, entry.info.name, entry.version);
    if (!model.is_ok() || !completions::is_language_model(**model)) continue;
    Json one = {{"id", entry.info.name},
                {"object", "model"},
                {"created", started_seconds_},
                {"owned_by", open_inference::kServerName}};
    if (!name.empty()) return one.dump();
    if (std::ranges::find(list, one) == list.end()) list.push_back(std::move(one));  // a version
  }
  if (name.empty()) return Json({{"object", "list"}, {"data", std::move(list)}}).dump();
  return make_error(Code::kNotFound, "no model \"{}\" generates texts", name.substr(0, 64));
}

Cancel CompletionsHandler::generate(const Request& request, const std::string& name,
                                    const std::string& version, bool is_streamed,
                                    const Answer& answer) {
  auto job = std::make_shared<Job>(Protocol::kGenerate, request, answer);
  job->name = name;
  job->version = version;
  job->is_streamed = is_streamed;
  return start(std::move(job));
}

void CompletionsHandler::drain(std::int64_t deadline_ns) {
  is_draining_ = true;
  while (texts_.num_texts > 0 && system_clock().now_ns() < deadline_ns) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Cancel CompletionsHandler::start(std::shared_ptr<Job> job) {
  const Status status = threads_.run([this, job] {
    const Status done = catch_no_memory([&] { return run(*job); });
    if (!done.is_ok()) job->answer(job->error(done));
  });
  if (!status.is_ok()) job->answer(job->error(status));
  return [job] { job->cancel(); };
}

Result<CompletionsHandler::Prepared> CompletionsHandler::prepare(Job& job) {
  const auto caller = SLUICE_TRY(identify_(job.request, Role::kInference));
  const TextCall call = SLUICE_TRY(read_call(job.protocol, job.request.body->bytes()));
  const std::string& name = job.protocol == Protocol::kGenerate ? job.name : call.model;
  const auto model = SLUICE_TRY(open_inference::find_model(service_, caller, name, job.version));
  const auto language = SLUICE_TRY(
      languages_.find(model).with_context(fmt::format("model \"{}\"", name.substr(0, 64))));
  completions::TextRequest wanted;
  wanted.tokens.prompt = SLUICE_TRY(ids_of(call, *language));
  wanted.tokens.sampling = call.sampling.over(language->facts.sampling, random_seed());
  wanted.tokens.max_tokens = call.max_tokens;
  wanted.tokens.stops = call.stop_ids;
  wanted.stops = call.stops;
  wanted.deadline_ns = open_inference::deadline_of(call.timeout_us, kNoDeadline, model->clock());
  wanted.priority = open_inference::priority_of(call.priority);
  Prepared prepared;
  prepared.echoed = SLUICE_TRY(echo_of(call, language->tokenizer));
  prepared.is_streamed = call.is_streamed || job.is_streamed;
  prepared.generation = SLUICE_TRY(completions::Generation::create(
      model, language, std::move(wanted), texts_, caller.session->requests()));
  if (job.protocol == Protocol::kGenerate) {
    prepared.format = make_generate_format({name, std::to_string(model->version()), call.id});
  } else {
    prepared.format =
        make_openai_format({name, job.protocol == Protocol::kChat, call.includes_usage});
  }
  return prepared;
}

/// Not ok: nothing was answered.
Status CompletionsHandler::run(Job& job) {
  if (is_draining_) {
    return make_error(Code::kUnavailable, "the daemon is shutting down");
  }
  Prepared prepared = SLUICE_TRY(prepare(job));
  const auto generation = prepared.generation;
  if (!prepared.is_streamed) {
    const auto error = [is_generate = job.protocol == Protocol::kGenerate](const Status& status) {
      return is_generate ? error_reply(status) : openai_error(status);
    };
    SLUICE_TRY(generation->start(make_whole_sink(std::move(prepared.format),
                                                 std::move(prepared.echoed), job.answer, error)));
    job.set(generation);
    return ok_status();
  }
  // The stream outlives the generation, and the generation holds its sink until its end.
  const auto resume = [weak = std::weak_ptr(generation)] {
    if (const auto self = weak.lock()) self->resume();
  };
  Reply reply;
  reply.type = kEvents;
  reply.stream = std::make_shared<ReplyStream>(resume);
  SLUICE_TRY(generation->start(
      make_stream_sink(std::move(prepared.format), prepared.echoed, reply.stream)));
  job.answer(std::move(reply));
  job.set(generation);
  return ok_status();
}

}  // namespace sluice::http
