// One request of a graph of functions.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sandbox/graph/function_graph.h"

namespace sluice::sandbox {

/// Submits a step when the one before has answered, on the thread that brings the answer.
///
///     start --> step 0 --answer--> step 1 --> ... --> done
///                  `-- error, cancellation, refusal -----^
///
/// Tensors stay where their functions wrote them until the last reader has answered, or the reply
/// has them. What is kept for later functions counts in the exchange, as long as its memory lives.
/// Each request of a step shares this object, and so the memory of what it reads.
class GraphRun final : public std::enable_shared_from_this<GraphRun> {
 public:
  GraphRun(std::shared_ptr<FunctionGraph> graph, std::uint64_t id);

  /// Takes the request over. Fails: as the first function's submit; then the request is as it was.
  Status start(runtime::Request& request);
  /// The reply is kCancelled unless all is done.
  void cancel();

 private:
  struct Kept {
    terms::OutputTensor tensor;
    ExchangeTable::Room room;  ///< null: it is not counted
  };

  Status submit(std::size_t step);
  std::string where(std::size_t step) const;
  runtime::Request request_of(std::size_t step);
  void take(std::size_t step, runtime::Reply reply);
  Status keep(std::size_t step, std::vector<terms::OutputTensor> outputs);
  void fail(std::size_t step, const terms::ErrorList& errors);
  void finish(runtime::Reply reply);
  runtime::Reply collect();
  Status copy_to_caller(std::size_t output);

  const std::shared_ptr<FunctionGraph> graph_;
  const std::uint64_t id_;
  const std::int64_t start_ns_;
  runtime::Request request_;
  std::vector<std::vector<Kept>> results_;  ///< by step
  RuntimeCode code_ = RuntimeCode::kOk;
  terms::ReplyDetail detail_;
  bool is_kept_ = true;  ///< none of the steps so far was computed

  std::mutex mutex_;  ///< guards the rest; never held while a function is called
  bool is_cancelled_ = false;
  std::size_t step_ = 0;  ///< that was submitted last
  bool has_id_ = false;   ///< of this step's request
  std::uint64_t step_id_ = 0;
};

}  // namespace sluice::sandbox
