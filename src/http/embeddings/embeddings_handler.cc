#include "http/embeddings/embeddings_handler.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/byte_budget.h"
#include "base/clock.h"
#include "base/no_memory.h"
#include "dispatch/later_cancel.h"
#include "http/embeddings/embedding_call.h"
#include "http/embeddings/embedding_format.h"
#include "http/openai_error.h"
#include "open_inference/models.h"
#include "open_inference/request.h"
#include "service/clients/peer.h"
#include "terms/runtime_code.h"
#include "text/encoding.h"
#include "text/vocabulary/token_id.h"

namespace sluice::http {
namespace {

using terms::Role;

constexpr std::string_view kEmbeddings = "/embeddings";
constexpr std::string_view kRerank = "/rerank";

/// A text's tokens in memory.
std::int64_t bytes_of(const text::Encoding& text) {
  return static_cast<std::int64_t>(sizeof(text) + text.ids.size() * sizeof(text::TokenId) +
                                   text.type_ids.size() * sizeof(std::int32_t));
}

std::int64_t count_tokens(const std::vector<text::Encoding>& texts) {
  std::int64_t count = 0;
  for (const text::Encoding& text : texts) count += std::ssize(text.ids);
  return count;
}

}  // namespace

/// A request, from its coming to its answer. Its client may go at any time.
struct EmbeddingsHandler::Job {
  /// Whether its texts are still to be read. Fails: kCancelled, kDeadlineExceeded.
  Status check(std::int64_t deadline_ns, const Clock& clock) const {
    if (cancel.is_cancelled()) {
      return terms::runtime_error(RuntimeCode::kCancelled, "the request was cancelled");
    }
    if (clock.now_ns() < deadline_ns) return ok_status();
    return terms::runtime_error(RuntimeCode::kTimeout, "the deadline passed before it started");
  }

  const Request request;
  const Answer answer;
  const bool is_rerank;
  service::Caller caller = {};
  dispatch::LaterCancel cancel = {};
};

/// What is computed, and how its result is written.
struct EmbeddingsHandler::Wanted {
  /// A limit is counted from here on, where the texts are still to be read.
  void set_limits(std::int64_t timeout_us, std::uint64_t priority) {
    request.deadline_ns = open_inference::deadline_of(timeout_us, kNoDeadline, model->clock());
    request.priority = open_inference::priority_of(priority);
  }
  /// The next text, `name` in the request. A query stands in the tokens of each of its documents:
  /// more memory than the body that was counted. Fails: as `read`, Job::check, ByteBudget::charge.
  template <typename Read>
  Status add(const Job& job, const std::string& name, const Read& read) {
    SLUICE_TRY(job.check(request.deadline_ns, model->clock()));
    auto text = SLUICE_TRY(read().with_context(name));
    SLUICE_TRY(charge.resize(charge.bytes() + bytes_of(text)));
    request.texts.push_back(std::move(text));
    return ok_status();
  }

  std::shared_ptr<dispatch::ModelRef> model;
  std::shared_ptr<const embed::TextModel> text_model;
  completions::EmbeddingRequest request;
  std::int64_t answer_bytes = 0;  ///< at most
  ByteCharge charge;              ///< of the client's answers, until this one
  std::function<std::string(const std::vector<float>& numbers)> write;
};

bool EmbeddingsHandler::takes(std::string_view path) {
  return path == kEmbeddings || path == kRerank;
}

Cancel EmbeddingsHandler::handle(const Request& request, std::string_view path,
                                 const Answer& answer) {
  const std::shared_ptr<Job> job(new Job{request, answer, path == kRerank});
  const auto work = [this, job] {
    const Status done = catch_no_memory([&] { return run(job); });
    if (!done.is_ok()) job->answer(openai_error(done));
  };
  const auto post = [&]() -> Status {
    job->caller = SLUICE_TRY(identify_(request, Role::kInference));
    return threads_.run(service::account_of(job->caller.peer), work);
  };
  if (const Status status = post(); !status.is_ok()) answer(openai_error(status));
  return [job] { job->cancel.cancel(); };
}

Status EmbeddingsHandler::find(Wanted& wanted, const Job& job, const std::string& name) {
  wanted.charge = SLUICE_TRY(ByteCharge::take(job.caller.session->answers(), 0));
  wanted.model = SLUICE_TRY(open_inference::find_model(service_, job.caller, name, ""));
  if (job.request.observation != nullptr) {
    job.request.observation->set_model(wanted.model->name(), wanted.model->version());
  }
  const std::string what = fmt::format("model \"{}\"", name.substr(0, 64));
  wanted.text_model = SLUICE_TRY(models_.find(wanted.model).with_context(what));
  if (wanted.text_model->scores() == job.is_rerank) return ok_status();
  return invalid_argument("{}: the model {}", what,
                          job.is_rerank ? "makes vectors; /v1/embeddings gives them"
                                        : "scores pairs of texts; /v1/rerank takes them");
}

Result<EmbeddingsHandler::Wanted> EmbeddingsHandler::prepare_vectors(const Job& job) {
  EmbeddingCall call = SLUICE_TRY(read_embedding(job.request.body->bytes()));
  Wanted wanted;
  SLUICE_TRY(find(wanted, job, call.model));
  const embed::TextModel& model = *wanted.text_model;
  const std::int64_t width = model.ports.width;
  const std::int64_t dimensions = call.dimensions.value_or(width);
  if (dimensions > width) {
    return invalid_argument("dimensions: {} are wanted; the model's vectors have {}", dimensions,
                            width);
  }
  wanted.set_limits(call.timeout_us, call.priority);
  const std::size_t count = std::max(call.texts.size(), call.ids.size());
  for (std::size_t i = 0; i < count; ++i) {
    SLUICE_TRY(wanted.add(job, fmt::format("input[{}]", i), [&] {
      if (call.ids.empty()) return model.encode(call.texts[i], {0, call.is_cut});
      if (call.is_cut && std::ssize(call.ids[i]) > model.facts.context) {
        call.ids[i].resize(static_cast<std::size_t>(model.facts.context));
      }
      return model.check(call.ids[i]);
    }));
  }
  call.texts.clear();
  call.ids.clear();
  wanted.answer_bytes = answer_bytes(std::ssize(wanted.request.texts), width);
  const std::int64_t num_tokens = count_tokens(wanted.request.texts);
  wanted.write = [call = std::move(call), width, dimensions, num_tokens,
                  is_normalized = model.facts.is_normalized](const std::vector<float>& vectors) {
    if (dimensions == width) return embedding_json(call, vectors, width, num_tokens);
    return embedding_json(call, cut_vectors(vectors, width, dimensions, is_normalized), dimensions,
                          num_tokens);
  };
  return wanted;
}

Result<EmbeddingsHandler::Wanted> EmbeddingsHandler::prepare_scores(const Job& job) {
  RerankCall call = SLUICE_TRY(read_rerank(job.request.body->bytes()));
  Wanted wanted;
  SLUICE_TRY(find(wanted, job, call.model));
  const embed::TextModel& model = *wanted.text_model;
  wanted.set_limits(call.timeout_us, call.priority);
  const auto query = SLUICE_TRY(model.read_query(call.query).with_context("query"));
  const embed::Length length = {call.max_tokens_per_doc.value_or(0), call.is_cut};
  for (std::size_t i = 0; i < call.documents.size(); ++i) {
    SLUICE_TRY(wanted.add(job, fmt::format("documents[{}]", i),
                          [&] { return model.encode_pair(query, call.documents[i], length); }));
  }
  const std::int64_t num_tokens = count_tokens(wanted.request.texts);
  wanted.answer_bytes = answer_bytes(call);
  wanted.write = [call = std::move(call), num_tokens](const std::vector<float>& scores) {
    return rerank_json(call, scores, num_tokens);
  };
  return wanted;
}

/// Not ok: nothing was answered.
Status EmbeddingsHandler::run(const std::shared_ptr<Job>& job) {
  if (shared_.is_draining) return make_error(Code::kUnavailable, "the daemon is shutting down");
  auto prepared = job->is_rerank ? prepare_scores(*job) : prepare_vectors(*job);
  Wanted wanted = SLUICE_TRY(std::move(prepared));
  SLUICE_TRY(wanted.charge.resize(wanted.charge.bytes() + wanted.answer_bytes));
  const auto charge = std::make_shared<const ByteCharge>(std::move(wanted.charge));
  const auto embedding = std::make_shared<completions::Embedding>(
      wanted.model, wanted.text_model, std::move(wanted.request), shared_,
      service_.limits_of(job->caller));
  SLUICE_TRY(embedding->start(
      [job, charge, write = std::move(wanted.write)](Result<std::vector<float>> numbers) {
        auto made = catch_no_memory([&]() -> Result<Reply> {
          Reply reply;
          const auto computed = SLUICE_TRY(std::move(numbers));
          reply.text = write(computed);
          return reply;
        });
        job->answer(made.is_ok() ? std::move(*made) : openai_error(made.status()));
      }));
  job->cancel.set([embedding] { embedding->cancel(); });
  return ok_status();
}

}  // namespace sluice::http
