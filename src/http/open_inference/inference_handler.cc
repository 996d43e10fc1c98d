#include "http/open_inference/inference_handler.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/no_memory.h"
#include "completions/language_model.h"
#include "dispatch/later_cancel.h"
#include "http/form.h"
#include "http/json_text.h"
#include "http/open_inference/infer_call.h"
#include "http/open_inference/load_field.h"
#include "http/open_inference/model_json.h"
#include "http/open_inference/region_call.h"
#include "http/open_inference/settings_call.h"
#include "http/open_inference/short_json.h"
#include "open_inference/models.h"
#include "service/clients/peer.h"
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

/// What comes with a load or an unload.
struct Control {
  bool with_steps = false;  ///< an unload of an ensemble's models, too
  std::optional<std::string> config;
};

/// A load may have a configuration, whose JSON is a text in JSON.
constexpr std::size_t kMaxLoadBytes = 64 << 10;

/// Nothing of the body may be passed over. A load whose body has more bytes than are read brings
/// files.
Result<Control> read_control(bool loads, std::string_view body) {
  if (loads && body.size() > kMaxLoadBytes) {
    return unimplemented("a body of {} bytes: a load takes no files", body.size());
  }
  const json wanted = SLUICE_TRY(read_short_json(body, loads ? kMaxLoadBytes : kMaxShortBytes));
  Control control;
  for (const auto& [name, value] : wanted.items()) {
    if (name != "parameters" || !value.is_object()) {
      return invalid_argument("the body has an object \"parameters\", and nothing else");
    }
    for (const auto& parameter : value.items()) {
      SLUICE_TRY(open_inference::check_control(loads, parameter.key()));
      const json& is = parameter.value();
      if (loads ? !is.is_string() : !is.is_boolean()) {
        return invalid_argument("parameter \"{}\" is {}", parameter.key(),
                                loads ? "a text" : "true or false");
      }
      if (loads) {
        control.config = is.get<std::string>();
      } else {
        control.with_steps = is.get<bool>();
      }
    }
  }
  return control;
}

bool asks_for_text(const dispatch::ModelRef& model, const open_inference::InferRequest& request) {
  const auto is_text = [](const auto& input) { return input.name == completions::kTextInput; };
  return std::ranges::any_of(request.inputs, is_text) && completions::is_language_model(model);
}

/// What comes out of such a body, its JSON, and the coding of such a reply take a few milliseconds.
constexpr std::size_t kSmallCodedBytes = 4 << 10;
constexpr std::size_t kSmallJsonBytes = 256 << 10;
constexpr std::size_t kSmallReplyBytes = 1 << 20;
/// For larger ones.
constexpr std::size_t kCodingThreads = 2;
constexpr std::size_t kMaxCodedBodies = 64;  // of an account that wait

/// Whether to read the body takes so long that other requests of the connections' thread must not
/// wait for it.
bool is_long(const Request& request) {
  const std::size_t size = request.body->size();
  if (request.coding != Coding::kIdentity) return size > kSmallCodedBytes;
  if (request.json_bytes >= 0) return std::cmp_greater(request.json_bytes, kSmallJsonBytes);
  return size > kSmallJsonBytes && !is_form(request.body->bytes());
}

/// The version in .../versions/V/..., which may be absent; removes it.
std::string take_version(std::vector<std::string>& segments) {
  if (segments.size() < 4 || segments[2] != "versions") return {};
  std::string version = std::move(segments[3]);
  segments.erase(segments.begin() + 2, segments.begin() + 4);
  return version;
}

/// Answers with the id in the head. The observation ends when the reply was sent.
Answer with_id(std::string id, const Request& request, const Answer& answer) {
  return [id = std::move(id), observation = request.observation,
          bytes_in = static_cast<std::int64_t>(request.body->size()), answer](Reply reply) {
    reply.fields.append("X-Request-ID: ").append(id).append("\r\n");
    if (observation != nullptr) {
      observation->set_http_reply(reply.status, bytes_in,
                                  static_cast<std::int64_t>(reply.size_bytes()));
      using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
      reply.owner = std::make_shared<const Both>(std::move(reply.owner), observation);
    }
    answer(std::move(reply));
  };
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
          cache_bytes),
      codings_(kCodingThreads, kMaxCodedBodies, service.log()) {
  tokens_.set(std::move(tokens));
}

Result<service::Caller> InferenceHandler::caller_of(const Request& request, Role role) const {
  terms::Peer peer = SLUICE_TRY(tokens_.identify(request.peer, request.authorization));
  if (request.observation != nullptr) {
    request.observation->set_user(service::account_of(peer));
  }
  return service_.caller_of(role, {}, std::move(peer));
}

Answer InferenceHandler::with_load(const Request& request, const Answer& answer) {
  return [this, format = request.load_format, answer](Reply reply) {
    reply.fields += load_field(format, service_.load_report());
    answer(std::move(reply));
  };
}

Cancel InferenceHandler::handle(Request request, const Answer& answer) {
  if (request.load_format.empty()) return observe(std::move(request), answer);
  const Answer loaded = with_load(request, answer);
  return observe(std::move(request), loaded);
}

Cancel InferenceHandler::observe(Request request, const Answer& answer) {
  request.observation = service_.telemetry().begin({.door = "http",
                                                    .traceparent = request.traceparent,
                                                    .tracestate = request.tracestate,
                                                    .request_id = request.request_id});
  const auto& observation = request.observation;
  std::string id(observation != nullptr ? observation->request_id()
                                        : telemetry::valid_request_id(request.request_id));
  if (id.empty()) return answer_request(std::move(request), answer);
  if (observation != nullptr) observation->set_call(request.method + " " + request.path);
  const Answer marked = with_id(std::move(id), request, answer);
  return answer_request(std::move(request), marked);
}

/// A client without a token makes nothing larger than what it sent.
Cancel InferenceHandler::answer_request(Request request, const Answer& answer) {
  const bool is_coded = request.coding != Coding::kIdentity;
  const bool is_apart = is_long(request);
  if (!is_coded && !is_apart) return take(std::move(request), answer);
  const auto caller = caller_of(request, Role::kAny);
  if (!caller.is_ok()) return answer_now(answer, caller.status());
  if (!is_apart) return take(std::move(request), answer);
  const auto cancel = std::make_shared<dispatch::LaterCancel>();
  const auto work = [this, cancel, request = std::move(request), first = first_of(answer)] {
    const Status status = catch_no_memory([&] {
      cancel->set(take(request, first));
      return ok_status();
    });
    if (!status.is_ok()) first(error_reply(telemetry::failed(request.observation, status)));
  };
  const Status status = codings_.run(service::account_of(caller->peer), work);
  if (!status.is_ok() && is_coded) answer(error_reply(status));
  if (!status.is_ok() && !is_coded) work();  // all threads are busy
  return [cancel] { cancel->cancel(); };
}

Cancel InferenceHandler::take(Request request, const Answer& answer) {
  if (const Status status = decode_body(request); !status.is_ok()) {
    return answer_now(answer, error_reply(body_status(status), status.message()));
  }
  const std::string_view path = request.path;
  if (CompletionsHandler::takes(path)) return completions_.handle(request, answer);
  if (!path.starts_with(kRoot) || (path.size() > kRoot.size() && path[kRoot.size()] != '/')) {
    return answer_now(answer, no_such_path());
  }
  auto segments = segments_of(path);
  if (!segments.is_ok()) return answer_now(answer, segments.status());
  const bool has_regions = !segments->empty() && (segments->front() == kSystemRegions ||
                                                  segments->front() == kCudaRegions);
  if (has_regions) return answer_now(answer, regions(request, *segments));
  if (segments->size() == 1 && segments->front() == "logging") {
    return answer_now(answer, settings(request));
  }
  const bool is_trace = segments->size() >= 2 && segments->back() == "setting" &&
                        segments->at(segments->size() - 2) == "trace";
  if (is_trace) return answer_now(answer, trace_settings(request, std::move(*segments)));
  if (request.method == "POST") return control(request, std::move(*segments), answer);
  if (request.method != "GET" && request.method != "HEAD") {
    return answer_now(answer, wrong_method("GET, HEAD, POST"));
  }
  return answer_now(answer, look(request, *segments));
}

/// Requests of GET.
Result<Reply> InferenceHandler::look(const Request& request, const Segments& segments) {
  const auto is = [&](const Segments& path) { return segments == path; };
  if (segments.size() >= 2 && segments[0] == "models") return look_at_model(request, segments);
  // Probes have no token. As over gRPC, they learn nothing but whether the daemon is ready.
  const bool is_ready = service_.is_ready();
  // Both fields: clients disagree which of them they read.
  const json health = {{"live", true}, {"ready", is_ready}};
  if (is({"health", "live"})) return json_reply(json_text(health));
  if (is({"health", "ready"})) return Reply{is_ready ? 200 : 503, kJson, json_text(health)};
  SLUICE_TRY(caller_of(request, Role::kAny));
  if (is({})) {
    return json_reply(json_text({{"name", open_inference::kServerName},
                                 {"version", service_.options().version},
                                 {"extensions", open_inference::extensions()}}));
  }
  if (is({"repository", "index"})) return wrong_method("POST");
  return no_such_path();
}

Result<Reply> InferenceHandler::regions(const Request& request, const Segments& segments) {
  const auto caller = SLUICE_TRY(caller_of(request, Role::kInference));
  return region_call(service_, caller, request, segments);
}

/// Whoever may read them; changing them needs more, which the call asks for.
Result<Reply> InferenceHandler::trace_settings(const Request& request, Segments segments) {
  const auto caller = SLUICE_TRY(caller_of(request, Role::kMonitor));
  const std::string version = take_version(segments);
  if (segments.size() == 2) return trace_settings_call(service_, caller, request, {});
  if (segments.size() != 4 || segments[0] != "models") return no_such_path();
  SLUICE_TRY(open_inference::find_handle(service_, caller, segments[1], version));
  return trace_settings_call(service_, caller, request, segments[1]);
}

Result<Reply> InferenceHandler::settings(const Request& request) {
  const auto caller = SLUICE_TRY(caller_of(request, Role::kMonitor));
  return log_settings_call(service_, caller, request);
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
  auto description = open_inference::describe(service_, caller, name, *model);
  description.is_decoupled = completions::is_language_model(*model);
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
  if (segments == Segments{"repository", "index"}) return answer_now(answer, index(request));
  const bool is_model =
      segments.size() == 4 && segments[0] == "repository" && segments[1] == "models";
  if (!is_model || (segments[3] != "load" && segments[3] != "unload")) {
    return answer_now(answer, no_such_path());
  }
  const bool loads = segments[3] == "load";
  auto caller = caller_of(request, Role::kControl);
  auto control = caller.is_ok() ? read_control(loads, request.body->bytes())
                                : Result<Control>(caller.status());
  Status status = control.status();
  if (status.is_ok()) {
    // A load may take long, and the connections' threads must not wait.
    status = threads_.run([this, caller = std::move(*caller), name = segments[2], loads, answer,
                           control = std::move(*control)] {
      const Status done = catch_no_memory([&] {
        return loads ? repository_.load(caller, name, control.config)
                     : repository_.unload(caller, name, control.with_steps);
      });
      answer(done.is_ok() ? json_reply("{}") : error_reply(done));
    });
  }
  if (!status.is_ok()) answer(error_reply(status));
  return nullptr;
}

Result<Reply> InferenceHandler::index(const Request& request) {
  SLUICE_TRY(caller_of(request, Role::kAny));
  auto models = SLUICE_TRY(repository_.index());
  const json wanted = SLUICE_TRY(read_short_json(request.body->bytes()));
  const auto ready = wanted.find("ready");
  if (ready != wanted.end() && ready->is_boolean() && ready->get<bool>()) {
    std::erase_if(models, [](const auto& entry) { return entry.state != repository::kReadyState; });
  }
  return json_reply(index_json(models));
}

/// On the thread of a run, which other requests wait for.
void InferenceHandler::answer_coded(Reply reply, const std::string& account, const Answer& answer) {
  if (reply.coding == Coding::kIdentity || reply.size_bytes() <= kSmallReplyBytes) {
    answer(std::move(reply));
    return;
  }
  const auto shared = std::make_shared<Reply>(std::move(reply));
  const auto send_plain = [shared, answer] {
    shared->coding = Coding::kIdentity;
    shared->coded = {};
    answer(std::move(*shared));
  };
  const auto work = [shared, answer, send_plain] {
    const Status status = catch_no_memory([&] {
      encode_body(*shared);
      return ok_status();
    });
    if (!status.is_ok()) return send_plain();
    answer(std::move(*shared));
  };
  // All threads are busy, or there is no memory: the client gets it as it is.
  if (!catch_no_memory([&] { return codings_.run(account, work); }).is_ok()) send_plain();
}

void InferenceHandler::answer_inference(const std::shared_ptr<InferCall>& call,
                                        const dispatch::ModelRef& model, runtime::Reply reply,
                                        const Answer& answer) {
  if (reply.code != RuntimeCode::kOk && reply.outputs.empty()) {
    answer(error_reply(reply.errors.to_status()));
    return;
  }
  call->reply = std::move(reply);
  auto written = catch_no_memory([&] { return write_reply(model, max_answer_bytes_, call); });
  answer_coded(written.is_ok() ? std::move(*written) : error_reply(written.status()), call->account,
               answer);
}

Cancel InferenceHandler::infer(const Request& request, const std::string& name,
                               const std::string& version, const Answer& answer) {
  const auto call = std::make_shared<InferCall>();
  call->body = request.body;
  call->model = name;
  call->coding = choose_coding(request.accept_encoding);
  service::Admission admission;
  const auto prepare = [&]() -> Result<runtime::Request> {
    admission.caller = SLUICE_TRY(caller_of(request, Role::kInference));
    admission.model =
        SLUICE_TRY(open_inference::find_model(service_, admission.caller, name, version));
    call->version = admission.model->version();
    call->charge = SLUICE_TRY(ByteCharge::take(admission.caller.session->answers(), 0));
    SLUICE_TRY(read_request(request.json_bytes, admission.model->signature(), *call));
    if (asks_for_text(*admission.model, call->plain)) {
      return completions::text_needs_stream(*admission.model);
    }
    SLUICE_TRY(open_inference::open_regions(*admission.caller.session, call->plain, call->owners));
    auto made = SLUICE_TRY(
        open_inference::to_runtime(call->plain, *admission.model, kNoDeadline, call->owners));
    made.memory_owner = call;
    made.exchange_owner = static_cast<std::uint64_t>(admission.caller.session->owner());
    return made;
  };
  auto prepared = catch_no_memory(prepare);
  if (!prepared.is_ok()) {
    return answer_now(answer, telemetry::failed(request.observation, prepared.status()));
  }
  call->account = call->coding == Coding::kIdentity ? std::string()
                                                    : service::account_of(admission.caller.peer);
  const auto flight = flights_.enter(admission.model, true, request.observation);
  const dispatch::RequestLimits& limits = admission.limits;
  if (flight->is_for_this_thread()) {
    auto reply = flights_.compute(flight, *prepared, limits);
    if (reply.is_ok()) {
      answer_inference(call, *admission.model, std::move(*reply), answer);
    } else {
      answer(error_reply(reply.status()));
    }
    return nullptr;
  }
  prepared->on_done = [this, call, model = admission.model, answer](runtime::Reply reply) {
    answer_inference(call, *model, std::move(reply), answer);
  };
  const Status status = flights_.post(flight, *prepared, limits);
  if (!status.is_ok()) answer(error_reply(status));
  return [flight] { flight->cancel(); };
}

}  // namespace sluice::http
