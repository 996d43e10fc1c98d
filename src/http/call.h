// A request over HTTP and its reply, for whoever answers it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/status.h"
#include "http/body.h"
#include "http/coding.h"
#include "http/reply_stream.h"
#include "telemetry/observation.h"
#include "terms/server/server.h"

namespace sluice::http {

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kText = "text/plain; charset=utf-8";
inline constexpr std::string_view kBinary = "application/octet-stream";
/// Server-sent events, as the HTML standard has them. It says UTF-8, but libraries take a text
/// without a charset for Latin-1.
inline constexpr std::string_view kEvents = "text/event-stream; charset=utf-8";

/// The field that says how much of a body is JSON.
inline constexpr std::string_view kJsonBytes = "Inference-Header-Content-Length";

struct Request {
  std::string method;  ///< "GET", "POST", ...
  std::string path;    ///< as it came, percent signs too; without the query
  terms::Peer peer;
  std::string authorization;       ///< the field's value
  std::string if_none_match = {};  ///< the same
  std::string host = {};           ///< the same; empty: absent
  std::string origin = {};         ///< the same
  /// How much of the body is JSON, from kJsonBytes; -1: all.
  std::int64_t json_bytes = -1;
  std::shared_ptr<const Body> body;   ///< never null
  Coding coding = Coding::kIdentity;  ///< of the body
  std::string accept_encoding = {};   ///< the field's value
  std::string traceparent = {};       ///< the same, as the four below
  std::string tracestate = {};
  std::string request_id = {};   ///< "X-Request-ID"
  std::string load_format = {};  ///< "endpoint-load-metrics-format"
  std::string accept = {};
  /// Learns what becomes of it; null: nobody wants to know.
  std::shared_ptr<telemetry::Observation> observation = nullptr;
};

struct Reply {
  int status = 200;
  std::string_view type = kJson;  ///< lives for ever
  std::string text;
  /// Follow the text. `owner` keeps them.
  std::vector<std::string_view> parts = {};
  std::shared_ptr<const void> owner = nullptr;
  /// Sent in this coding if that makes it smaller.
  Coding coding = Coding::kIdentity;
  std::string coded = {};  ///< text and parts in their coding; empty: not coded yet
  /// Sends kJsonBytes with the size of the text.
  bool has_json_head = false;
  std::string allow = {};   ///< methods, of a 405
  std::string fields = {};  ///< more of the head, each with its end of line
  /// Instead of the text and the parts: bytes that come later, in chunks.
  std::shared_ptr<ReplyStream> stream = nullptr;

  /// Bytes of the text and the parts, before their coding.
  std::size_t size_bytes() const;
};

/// Called once, from any thread.
using Answer = std::function<void(Reply)>;
/// Answers with the first reply alone: whoever finds that work threw, or that one of several texts
/// failed, cannot know whether it was answered before.
Answer first_of(Answer answer);
/// Ends the work for a client that is gone; it is answered all the same. May be called again, until
/// the end of the reply. Empty: nothing to end.
using Cancel = std::function<void()>;
/// Answers a request, now or later. Must not block. Called from several threads at a time.
using Handler = std::function<Cancel(Request request, Answer answer)>;

/// The status that goes with a code: 4xx for what the client can mend, 5xx for what it cannot; as
/// Triton's.
int http_status(Code code);

/// The status for a body that does not fit, or is not what its coding says.
int body_status(const Status& status);

/// Takes the coding off the request's body; one without coding stays as it is.
/// Fails: as decode.
Status decode_body(Request& request);

/// Puts the text and the parts into the reply's coding if that makes them smaller, and takes the
/// coding off the reply otherwise. A stream, and a reply that is coded already, stay as they are.
/// Takes some 10 ms for a megabyte.
void encode_body(Reply& reply);

/// {"error": "..."}; how all errors of the Open Inference Protocol look.
Reply error_reply(int status, std::string_view message);
Reply error_reply(const Status& status);
/// Answers with the reply or the error; there is nothing to cancel then.
Cancel answer_now(const Answer& answer, Result<Reply> reply);
/// A part of a path, percent-decoded (RFC 3986, section 2.1).
/// Fails: kInvalidArgument for a bad percent sign, and for what is no UTF-8.
Result<std::string> decode_path(std::string_view text);
/// 405. `allowed`: "GET, HEAD".
Reply wrong_method(std::string allowed);

}  // namespace sluice::http
