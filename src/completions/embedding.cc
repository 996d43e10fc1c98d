#include "completions/embedding.h"

#include <algorithm>
#include <utility>

#include "base/no_memory.h"
#include "embed/embedder.h"
#include "generate/text/package_text.h"
#include "package/executable.h"
#include "terms/runtime_code.h"

namespace sluice::completions {
namespace {

/// Rows of a joined run, as embed::plan_batches makes them at most.
constexpr std::int64_t kJoinedRows = 32;

std::size_t size_of(const embed::TextModel& model) {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, model.ports.width));
}

}  // namespace

bool is_text_model(const dispatch::ModelRef& model) {
  const auto executable = model.sink().executable();
  return executable != nullptr && embed::is_text_model(*executable);
}

Result<std::shared_ptr<const embed::TextModel>> read_text_model(const dispatch::ModelRef& model) {
  if (model.is_remote()) {
    return invalid_argument(
        "texts are served of models in the daemon's own process; this one runs in a worker");
  }
  const auto executable = model.sink().executable();
  if (executable == nullptr || !embed::is_text_model(*executable)) {
    return invalid_argument("the model makes no vectors of texts and no scores");
  }
  auto tokenizer = SLUICE_TRY(generate::read_tokenizer(*executable));
  auto read =
      SLUICE_TRY(embed::TextModel::read(*executable, model.signature(), std::move(tokenizer)));
  // Refused where whoever loaded the model set other rules, which hold then.
  (void)model.sink().join({kJoinedRows, 0});
  return std::make_shared<const embed::TextModel>(std::move(read));
}

Embedding::Embedding(std::shared_ptr<dispatch::ModelRef> model,
                     std::shared_ptr<const embed::TextModel> texts, EmbeddingRequest request,
                     Shared& shared, dispatch::RequestLimits limits)
    : model_(std::move(model)),
      text_model_(std::move(texts)),
      request_(std::move(request)),
      shared_(shared),
      limits_(std::move(limits)),
      batches_(embed::plan_batches(request_.texts, text_model_->facts)),
      numbers_(request_.texts.size() * size_of(*text_model_)) {}

Status Embedding::start(OnDone on_done) {
  SLUICE_TRY(limits_.quota->enter());
  ++shared_.num_texts;
  on_done_ = std::move(on_done);
  const Status status = catch_no_memory([&] { return post(); });
  if (!status.is_ok()) leave();
  return status;
}

/// Posts the next run.
Status Embedding::post() {
  const embed::Batch& batch = batches_[next_];
  const auto rows = std::make_shared<embed::Rows>(batch, request_.texts, text_model_->facts);
  runtime::Request request;
  request.inputs.resize(model_->signature().inputs.size());
  for (auto& [input, view] : rows->inputs(text_model_->ports)) {
    request.inputs[input] = std::move(view);
  }
  request.deadline_ns = request_.deadline_ns;
  request.priority = request_.priority;
  request.memory_owner = rows;
  request.on_done = [self = shared_from_this()](const runtime::Reply& reply) { self->take(reply); };
  const auto flight = shared_.flights.enter(model_, /*may_compute=*/false);
  cancel_.set([flight] { flight->cancel(); });  // one that was answered takes no notice
  return shared_.flights.post(flight, request, {nullptr, limits_.max_run_ns, limits_.max_priority});
}

void Embedding::take(const runtime::Reply& reply) {
  if (reply.outputs.empty()) return end(reply.errors.to_status());
  const terms::OutputTensor& result = reply.outputs[text_model_->ports.result];
  const embed::Batch& batch = batches_[next_];
  const Status status = embed::put_rows(batch.texts, result.view, size_of(*text_model_), numbers_);
  if (!status.is_ok()) return end(status);
  if (++next_ == batches_.size()) return end(ok_status());
  go_on();
}

/// A full line puts the next run off; it refuses the first one alone, which `start` posts.
void Embedding::go_on() {
  Status status = catch_no_memory([&] { return post(); });
  if (terms::runtime_code_of(status) == RuntimeCode::kQueueFull) {
    status = catch_no_memory(
        [&] { return shared_.retries.add([self = shared_from_this()] { self->go_on(); }); });
  }
  if (!status.is_ok()) end(status);
}

void Embedding::end(const Status& status) {
  const OnDone on_done = std::exchange(on_done_, nullptr);
  leave();
  if (status.is_ok()) {
    on_done(std::move(numbers_));
  } else {
    on_done(status);
  }
}

void Embedding::leave() {
  limits_.quota->leave();
  --shared_.num_texts;
}

}  // namespace sluice::completions
