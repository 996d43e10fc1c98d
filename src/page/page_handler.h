// The daemon's page: what each path does.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "http/call.h"
#include "page/model_calls.h"
#include "page/state_feed.h"
#include "service/call_threads.h"
#include "service/service.h"
#include "terms/server/roles.h"

namespace sluice::page {

/// Who sent a request, if the client has the role. Fails: kUnauthenticated, kPermissionDenied.
using FindCaller = std::function<Result<service::Caller>(const http::Request&, terms::Role)>;

/// Answers under "/" and "/page". The files of the page hold nothing about the daemon, so every
/// client gets them: a browser cannot send a token before it has the page that asks for it. All
/// else needs the role that the same call needs at the other doors. Safe from any thread.
class PageHandler {
 public:
  /// `service` and `threads` outlive the handler. `find_caller`: from several threads at a time.
  PageHandler(service::Service& service, service::CallThreads& threads, FindCaller find_caller)
      : feed_(service), models_(service, threads), find_caller_(std::move(find_caller)) {}

  /// Whether a path is the page's.
  static bool takes(std::string_view path);
  /// As http::Handler says. Requires: takes(request.path).
  http::Cancel handle(const http::Request& request, const http::Answer& answer);
  /// Ends what would not end by itself. Blocks.
  void close();

 private:
  Result<http::Reply> look(const http::Request& request);
  http::Reply state();
  Result<http::Cancel> ask_of_model(const http::Request& request, const http::Answer& answer);
  /// Profiles one model, or all.
  Result<http::Cancel> profile(const http::Request& request,
                               std::optional<terms::ModelHandle> model, const http::Answer& answer);
  http::Cancel follow(const http::Request& request, const http::Answer& answer);

  StateFeed feed_;
  ModelCalls models_;
  const FindCaller find_caller_;
};

}  // namespace sluice::page
