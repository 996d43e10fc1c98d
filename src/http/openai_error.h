// Errors as OpenAI's clients read them.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"
#include "http/call.h"

namespace sluice::http {

/// {"error": {"message", "type", "param", "code"}}. "param" is the field that the message begins
/// with, as in `n: 300 is not between 1 and 128`. What is not served is a request to mend, 400, not
/// a fault of the server: clients send those again, and routers leave such a server out. A line or
/// a session that is full is 429, behind which clients wait. Source:
/// platform.openai.com/docs/guides/error-codes
Reply openai_error(const Status& status);
/// 404: nothing is at the path; "unknown_url", since "model_not_found" is about a model.
Reply no_openai_path();
/// 413, for a body of more bytes than are read.
Reply too_large_for_openai(std::size_t size_bytes, std::size_t limit_bytes);
/// 405. `allowed`: "GET, HEAD".
Reply wrong_openai_method(std::string allowed);

}  // namespace sluice::http
