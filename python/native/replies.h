// Requests in flight: threads of the runtime report their ends, one thread of Python collects them.
// No thread of the runtime takes the GIL for it.
#pragma once

#include <nanobind/nanobind.h>
#include <sluice/request.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tensors.h"

namespace sluice::python {

struct FreeReply {
  void operator()(sluice_reply* reply) const { sluice_reply_free(reply); }
};
using ReplyPointer = std::unique_ptr<sluice_reply, FreeReply>;

/// The outputs of a reply as read_input's counterparts, in memory of the reply. None where `wanted`
/// is false; the index of an output that stays in a daemon's exchange.
nb::list outputs_of(ReplyPointer reply, const std::vector<bool>& wanted);

class Replies;

/// A request or an entry of a queue. Holds Python objects: destroyed with the GIL.
struct Pending {
  std::shared_ptr<Replies> replies;
  nb::object future;                ///< what `Replies::wait` returns
  std::vector<InputTensor> inputs;  ///< borrowed by the runtime
  std::int32_t status = 0;          ///< a gRPC status code
  std::string message = {};         ///< of a failure
  ReplyPointer reply = {};          ///< of a request that succeeded
  nb::object outputs = nb::none();  ///< the reply's, once the collector has taken them
  std::int64_t size_bytes = 0;      ///< of an entry of a queue
};

/// A forked child leaks it: the thread that waited does not exist there.
class Replies {
 public:
  Replies();
  ~Replies();
  Replies(const Replies&) = delete;
  Replies& operator=(const Replies&) = delete;

  /// Any thread, without the GIL.
  void push(std::unique_ptr<Pending> ended);

  /// Waits without the GIL for at least one end. Returns tuples (future, status, message, list of
  /// outputs or None, size in bytes); an empty list once it is closed and everything is collected.
  nb::list wait();

  void close();

 private:
  struct State {
    std::mutex mutex;  // of what follows
    std::condition_variable changed;
    std::vector<std::unique_ptr<Pending>> ended;
    bool is_closed = false;
    /// Replies of the thread in `wait`, with the GIL. A call that fails leaves them to the next.
    std::vector<std::unique_ptr<Pending>> collected;
  };

  std::uint32_t generation_;
  std::unique_ptr<State> state_;
};

void bind_replies(nb::module_& module);

}  // namespace sluice::python
