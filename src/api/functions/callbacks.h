// Whether the calling thread is in a callback of the user, which must not block.
#pragma once

#include "base/status.h"

namespace sluice::api {

/// Marks the calling thread for its lifetime. May be nested.
class InCallback {
 public:
  InCallback();
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;
  ~InCallback();
};

/// Fails: kFailedPrecondition if the calling thread is in a callback.
Status refuse_in_callback();

}  // namespace sluice::api
