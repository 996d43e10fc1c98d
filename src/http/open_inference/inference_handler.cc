#include "http/open_inference/inference_handler.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "base/no_memory.h"
#include "http/json_text.h"
#include "http/open_inference/infer_call.h"
#include "http/open_inference/model_json.h"
#include "http/open_inference/region_call.h"
#include "open_inference/models.h"
#include "terms/runtime_code.h"

namespace sluice::http {
namespace {

using nlohmann::json;
using terms::Role;

constexpr std::string_view kRoot = "/v2";

/// Between slashes, behind the root. A slash at the end adds nothing.
Result<std::vector<std::string>> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  path.remove_prefix(kRoot.size());
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t size = std::min(path.find('/'), path.size());
    if (size > 0) segments.push_back(SLUICE_TRY(decode_path(path.substr(0, size))));
    path.remove_prefix(size);
  }
  return segments;
}

Reply json_reply(std::string text) { return {200, kJson, std::move(text)}; }

Reply no_such_path() {
  return error_reply(404, "no such path; docs/open-inference.md lists those under /v2 and /v1");
}

/// The version in .../versions/V/..., which may be absent; removes it.
std::string take_version(std::vector<std::string>& segments) {
  if (segments.size() < 4 || segments[2] != "versions") return {};
  std::string version = std::move(segments[3]);
  segments.erase(segments.begin() + 2, segments.begin() + 4);
  return version;
}

}  // namespace

InferenceHandler::InferenceHandler(service::Service& service, repository::Repository& repository,
                                   service::CallThreads& threads,
                                   std::vector<service::AccessToken> tokens,
                                   std::int64_t max_answer_bytes, std::int64_t cache_bytes)
    : service_(service),
      repository_(repository),
      threads_(threads),
      max_answer_bytes_(max_answer_bytes),
      completions_(
          service, [this](const Request& request, Role role) { return caller_of(request, role); },
          cache_bytes) {
  tokens_.set(std::move(tokens));
}

Result<service::Caller> InferenceHandler::caller_of(const Request& request, Role role) const {
  terms::Peer peer = SLUICE_TRY(tokens_.identify(request.peer, request.authorization));
  return service_.caller_of(role, {}, std::move(peer));
}

Cancel InferenceHandler::handle(const Request& request, const Answer& answer) {
  const std::string_view path = request.path;
  if (CompletionsHandler::takes(path)) return completions_.handle(request, answer);
  if (!path.starts_with(kRoot) || (path.size() > kRoot.size() && path[kRoot.size()] != '/')) {
    answer(no_such_path());
    return nullptr;
  }
  auto segments = segments_of(path);
  if (!segments.is_ok()) {
    answer(error_reply(segments.status()));
    return nullptr;
  }
  if (!segments->empty() && segments->front() == kRegions) {
    auto reply = regions(request, *segments);
    answer(reply.is_ok() ? std::move(*reply) : error_reply(reply.status()));
    return nullptr;
  }
  if (request.method == "POST") return control(request, std::move(*segments), answer);
  if (request.method != "GET" && request.method != "HEAD") {
    answer(wrong_method("GET, HEAD, POST"));
    return nullptr;
  }
  auto reply = look(request, *segments);
  answer(reply.is_ok() ? std::move(*reply) : error_reply(reply.status()));
  return nullptr;
}

/// Requests of GET.
Result<Reply> InferenceHandler::look(const Request& request, const Segments& segments) {
  const auto is = [&](const Segments& path) { return segments == path; };
  if (segments.size() >= 2 && segments[0] == "models") return look_at_model(request, segments);
  SLUICE_TRY(caller_of(request, Role::kAny));
  if (is({})) {
    return json_reply(json_text({{"name", open_inference::kServerName},
                                 {"version", service_.options().version},
                                 {"extensions", open_inference::extensions()}}));
  }
  const bool is_ready = service_.health().is_ready;
  // Both fields: clients disagree which of them they read.
  const std::string health = json_text({{"live", true}, {"ready", is_ready}});
  if (is({"health", "live"})) return json_reply(health);
  if (is({"health", "ready"})) return Reply{is_ready ? 200 : 503, kJson, health};
  if (is({"repository", "index"})) return wrong_method("POST");
  return no_such_path();
}

Result<Reply> InferenceHandler::regions(const Request& request, const Segments& segments) {
  const auto caller = SLUICE_TRY(caller_of(request, Role::kInference));
  return region_call(service_, caller, request, segments);
}

Result<Reply> InferenceHandler::look_at_model(const Request& request, const Segments& segments) {
  Segments path = segments;
  if (path == Segments{"models", "stats"}) {
    SLUICE_TRY(caller_of(request, Role::kMonitor));
    const auto statistics = SLUICE_TRY(service_.statistics(0));
    return json_reply(statistics_json(service_, statistics));
  }
  const std::string version = take_version(path);
  const std::string& name = path[1];
  const std::string what = path.size() == 2 ? "" : path.size() == 3 ? path[2] : "?";
  if (what == "stats") {
    const auto caller = SLUICE_TRY(caller_of(request, Role::kMonitor));
    const auto model = SLUICE_TRY(open_inference::find_handle(service_, caller, name, version));
    const auto statistics = SLUICE_TRY(service_.statistics(static_cast<std::uint64_t>(model)));
    return json_reply(statistics_json(service_, statistics));
  }
  if (what == "ready") {
    const auto caller = SLUICE_TRY(caller_of(request, Role::kAny));
    const bool is_ready = open_inference::is_ready(service_, caller, name, version);
    return Reply{is_ready ? 200 : 404, kJson, json_text({{"name", name}, {"ready", is_ready}})};
  }
  if (what == "infer" || what.starts_with("generate")) return wrong_method("POST");
  if (!what.empty() && what != "config") return no_such_path();
  const auto caller = SLUICE_TRY(caller_of(request, Role::kInference));
  const auto model = SLUICE_TRY(open_inference::find_model(service_, caller, name, version));
  const auto description = open_inference::describe(service_, caller, name, *model);
  return json_reply(what.empty() ? metadata_json(description, name)
                                 : config_json(description, name));
}

/// Requests of POST.
Cancel InferenceHandler::control(const Request& request, Segments segments, const Answer& answer) {
  if (segments.size() >= 3 && segments[0] == "models" && segments.back() == "infer") {
    const std::string version = take_version(segments);
    if (segments.size() == 3) return infer(request, segments[1], version, answer);
  }
  const bool is_streamed = !segments.empty() && segments.back() == "generate_stream";
  if (segments.size() >= 3 && segments[0] == "models" &&
      (is_streamed || segments.back() == "generate")) {
    const std::string version = take_version(segments);
    if (segments.size() == 3) {
      return completions_.generate(request, segments[1], version, is_streamed, answer);
    }
  }
  if (segments == Segments{"repository", "index"}) {
    auto reply = index(request);
    answer(reply.is_ok() ? std::move(*reply) : error_reply(reply.status()));
    return nullptr;
  }
  const bool is_model =
      segments.size() == 4 && segments[0] == "repository" && segments[1] == "models";
  if (!is_model || (segments[3] != "load" && segments[3] != "unload")) {
    answer(no_such_path());
    return nullptr;
  }
  auto caller = caller_of(request, Role::kControl);
  Status status = caller.is_ok() ? ok_status() : caller.status();
  if (status.is_ok()) {
    // A load may take long, and the connections' threads must not wait.
    status = threads_.run([this, caller = std::move(*caller), name = segments[2],
                           loads = segments[3] == "load", answer] {
      const Status done = loads ? repository_.load(caller, name) : repository_.unload(caller, name);
      answer(done.is_ok() ? json_reply("{}") : error_reply(done));
    });
  }
  if (!status.is_ok()) answer(error_reply(status));
  return nullptr;
}

Result<Reply> InferenceHandler::index(const Request& request) {
  SLUICE_TRY(caller_of(request, Role::kAny));
  auto models = SLUICE_TRY(repository_.index());
  const std::string_view body = request.body->bytes();
  constexpr std::size_t kMaxBytes = 4096;  // nested lists take many times their text
  if (body.size() > kMaxBytes)
    return invalid_argument("the body has more than {} bytes", kMaxBytes);
  if (!body.empty()) {
    const json wanted = json::parse(body, nullptr, false);
    if (!wanted.is_object()) return invalid_argument("the body is no JSON object");
    const auto ready = wanted.find("ready");
    if (ready != wanted.end() && ready->is_boolean() && ready->get<bool>()) {
      std::erase_if(models,
                    [](const auto& entry) { return entry.state != repository::kReadyState; });
    }
  }
  return json_reply(index_json(models));
}

Cancel InferenceHandler::infer(const Request& request, const std::string& name,
                               const std::string& version, const Answer& answer) {
  const auto call = std::make_shared<InferCall>();
  call->body = request.body;
  call->model = name;
  service::Admission admission;
  const auto prepare = [&]() -> Result<runtime::Request> {
    admission.caller = SLUICE_TRY(caller_of(request, Role::kInference));
    admission.model =
        SLUICE_TRY(open_inference::find_model(service_, admission.caller, name, version));
    call->version = admission.model->version();
    call->charge = SLUICE_TRY(ByteCharge::take(admission.caller.session->answers(), 0));
    SLUICE_TRY(read_request(request.json_bytes, admission.model->signature(), *call));
    SLUICE_TRY(open_inference::open_regions(*admission.caller.session, call->plain, call->owners));
    auto made = SLUICE_TRY(
        open_inference::to_runtime(call->plain, *admission.model, kNoDeadline, call->owners));
    made.memory_owner = call;
    made.exchange_owner = static_cast<std::uint64_t>(admission.caller.session->owner());
    return made;
  };
  auto prepared = catch_no_memory(prepare);
  if (!prepared.is_ok()) {
    answer(error_reply(prepared.status()));
    return nullptr;
  }
  const auto reply_to = [call, answer, model = admission.model,
                         limit = max_answer_bytes_](runtime::Reply reply) {
    if (reply.code != RuntimeCode::kOk && reply.outputs.empty()) {
      answer(error_reply(reply.errors.to_status()));
      return;
    }
    call->reply = std::move(reply);
    auto written = catch_no_memory([&] { return write_reply(model->signature(), limit, call); });
    answer(written.is_ok() ? std::move(*written) : error_reply(written.status()));
  };
  const auto flight = flights_.enter(admission.model, true);
  const dispatch::RequestLimits& limits = admission.limits;
  if (flight->is_for_this_thread()) {
    auto reply = flights_.compute(flight, *prepared, limits);
    if (reply.is_ok()) {
      reply_to(std::move(*reply));
    } else {
      answer(error_reply(reply.status()));
    }
    return nullptr;
  }
  prepared->on_done = reply_to;
  const Status status = flights_.post(flight, *prepared, limits);
  if (!status.is_ok()) answer(error_reply(status));
  return [flight] { flight->cancel(); };
}

}  // namespace sluice::http
