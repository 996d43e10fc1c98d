#include "page/page_handler.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "page/asset.h"

namespace sluice::page {
namespace {

using terms::Role;

constexpr std::string_view kRoot = "/page/";
constexpr std::string_view kEvents = "/page/events";
constexpr std::string_view kModels = "/page/models/";
constexpr std::string_view kProfile = "/page/profile";
constexpr const char* kNotKept = "Cache-Control: no-store\r\n";

}  // namespace

bool PageHandler::takes(std::string_view path) { return path == "/" || path.starts_with(kRoot); }

http::Cancel PageHandler::handle(const http::Request& request, const http::Answer& answer) {
  if (request.path.starts_with(kModels) || request.path == kProfile) {
    auto cancel = request.path == kProfile ? profile(request, std::nullopt, answer)
                                           : ask_of_model(request, answer);
    if (cancel.is_ok()) return std::move(*cancel);
    return http::answer_now(answer, cancel.status());
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return http::answer_now(answer, http::wrong_method("GET, HEAD"));
  }
  if (request.path == kEvents && request.method == "GET") return follow(request, answer);
  return http::answer_now(answer, look(request));
}

Result<http::Reply> PageHandler::look(const http::Request& request) {
  std::string_view name = "index.html";
  if (request.path != "/") name = std::string_view(request.path).substr(kRoot.size());
  if (const Asset* asset = find_asset(name)) return reply_of(*asset, request.if_none_match);
  if (name != "state" && name != "events") {
    return http::error_reply(404, "the page has no such file; it is at /");
  }
  SLUICE_TRY(find_caller_(request, Role::kMonitor));
  return name == "state" ? state() : http::Reply{200, http::kEvents, {}};
}

void PageHandler::close() {
  models_.close();
  feed_.close();
}

/// "/page/models/HANDLE/graph", of GET, and ".../profile", of POST.
Result<http::Cancel> PageHandler::ask_of_model(const http::Request& request,
                                               const http::Answer& answer) {
  const std::string_view rest = std::string_view(request.path).substr(kModels.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view what = rest.substr(slash);
  std::uint64_t number = 0;
  const char* end = rest.data() + slash;
  const auto read = std::from_chars(rest.data(), end, number);
  const bool is_number = slash > 0 && read.ec == std::errc() && read.ptr == end;
  if (!is_number || (what != "/graph" && what != "/profile")) {
    answer(http::error_reply(404, "below /page/models there are HANDLE/graph and HANDLE/profile"));
    return http::Cancel();
  }
  const terms::ModelHandle model{number};
  if (what == "/graph") {
    if (request.method != "GET" && request.method != "HEAD") {
      answer(http::wrong_method("GET, HEAD"));
      return http::Cancel();
    }
    answer(SLUICE_TRY(models_.graph(SLUICE_TRY(find_caller_(request, Role::kInference)), model)));
    return http::Cancel();
  }
  return profile(request, model, answer);
}

Result<http::Cancel> PageHandler::profile(const http::Request& request,
                                          std::optional<terms::ModelHandle> model,
                                          const http::Answer& answer) {
  if (request.method != "POST") {
    answer(http::wrong_method("POST"));
    return http::Cancel();
  }
  return models_.profile(SLUICE_TRY(find_caller_(request, Role::kMonitor)), model, answer);
}

http::Reply PageHandler::state() {
  const auto text = feed_.text();
  http::Reply reply;
  reply.parts = {*text};
  reply.owner = text;
  reply.fields = kNotKept;
  return reply;
}

http::Cancel PageHandler::follow(const http::Request& request, const http::Answer& answer) {
  // A copy without the body.
  http::Request asked = request;
  asked.body = nullptr;
  const auto may = [this, asked] { return find_caller_(asked, Role::kMonitor).status(); };
  Status status = may();
  if (status.is_ok()) {
    auto viewing = feed_.view([may] { return may().is_ok(); });
    if (viewing.is_ok()) {
      http::Reply reply;
      reply.type = http::kEvents;
      reply.stream = std::move(viewing->stream);
      answer(std::move(reply));
      return std::move(viewing->leave);
    }
    status = viewing.status();
  }
  return http::answer_now(answer, status);
}

}  // namespace sluice::page
