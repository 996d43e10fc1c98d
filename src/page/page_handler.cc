#include "page/page_handler.h"

#include "page/asset.h"

namespace sluice::page {
namespace {

using terms::Role;

constexpr std::string_view kRoot = "/page/";
constexpr std::string_view kEvents = "/page/events";
constexpr const char* kNotKept = "Cache-Control: no-store\r\n";

}  // namespace

bool PageHandler::takes(std::string_view path) { return path == "/" || path.starts_with(kRoot); }

http::Cancel PageHandler::handle(const http::Request& request, const http::Answer& answer) {
  if (request.method != "GET" && request.method != "HEAD") {
    answer(http::wrong_method("GET, HEAD"));
    return nullptr;
  }
  if (request.path == kEvents && request.method == "GET") return follow(request, answer);
  auto reply = look(request);
  answer(reply.is_ok() ? std::move(*reply) : http::error_reply(reply.status()));
  return nullptr;
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
  answer(http::error_reply(status));
  return nullptr;
}

}  // namespace sluice::page
