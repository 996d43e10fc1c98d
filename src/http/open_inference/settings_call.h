// Settings of the daemon that the Open Inference Protocol reads and changes over HTTP.
#pragma once

#include <string>

#include "base/result.h"
#include "http/call.h"
#include "service/service.h"

namespace sluice::http {

/// Reads the trace settings, or changes some of them first: a body is an object of texts, or arrays
/// of texts, by name. `model`: that the path names; empty: none.
/// Fails: as open_inference::change_trace_settings; kInvalidArgument for a body that is no
/// settings.
Result<Reply> trace_settings_call(service::Service& service, const service::Caller& caller,
                                  const Request& request, const std::string& model);

/// Log settings: GET reads them; POST changes those of the JSON object that it sends, and answers
/// all of them. Fails: as change_log_settings; kInvalidArgument for a body that is no object of
/// settings.
Result<Reply> log_settings_call(service::Service& service, const service::Caller& caller,
                                const Request& request);

}  // namespace sluice::http
