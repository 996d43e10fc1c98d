// An inference over HTTP: its JSON, and the bytes behind it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_budget.h"
#include "http/call.h"
#include "open_inference/request.h"

namespace sluice::http {

/// From the request to the end of its reply; a device or a shadow may read it for longer.
struct InferCall {
  std::shared_ptr<const Body> body;
  /// Bytes made of JSON, or copied because a type cannot be read in place.
  std::list<std::string> contents;
  open_inference::Owners owners;       ///< the texts of the JSON, too
  open_inference::InferRequest plain;  ///< points into the three above
  std::string model;
  std::int64_t version = 1;
  std::string id;
  Coding coding = Coding::kIdentity;  ///< that the client prefers for its answer
  std::string account;                ///< in whose line a large answer is coded; empty: it is not
  bool wants_binary = false;          ///< of outputs that say nothing
  std::vector<bool> is_binary;        ///< by wanted output
  runtime::Reply reply;
  ByteCharge charge;  ///< of the answer
};

/// `json_bytes`: as Request has it; 0 for the bytes of a model's only input. A body that is a form
/// has no such head: its parts are inputs by name, and may be members of the JSON.
/// Fails: kBadInput, kInvalid.
Status read_request(std::int64_t json_bytes, const terms::Signature& signature, InferCall& call);

/// The answer to `call.reply`, which has outputs. It points into the call, which it keeps. Takes
/// the reply and the charge out of the call: they go with the answer.
/// Fails: as open_inference::outputs_of and write_elements; kOutOfResources over `limit_bytes`.
Result<Reply> write_reply(const dispatch::ModelRef& model, std::int64_t limit_bytes,
                          const std::shared_ptr<InferCall>& call);

}  // namespace sluice::http
