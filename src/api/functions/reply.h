// What a sluice_reply stands for.
#pragma once

#include <memory>
#include <vector>

#include "api/runtime/runtime.h"
#include "sluice/request.h"

namespace sluice::api {

/// Requires: an ok status.
std::unique_ptr<sluice_reply> make_reply(InferReply reply);
/// Hands the reply to a caller. Fails: with the reply's status.
Status give(InferReply reply, sluice_reply** to);

}  // namespace sluice::api

struct sluice_reply {
  sluice::api::InferReply reply;
  std::vector<const char*> backends;  ///< of `detail`
  sluice_reply_detail_info detail = {};
};
