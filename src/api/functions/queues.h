// Open queues of a runtime.
#pragma once

#include <memory>

#include "runtime/handle_table.h"
#include "session/queue_manager.h"

namespace sluice::api {

/// The queues of a model, which they keep.
struct OpenQueues {
  std::shared_ptr<runtime::RequestSink> model;
  std::unique_ptr<session::QueueManager> manager;
};

using QueueTable = runtime::HandleTable<OpenQueues>;

}  // namespace sluice::api
