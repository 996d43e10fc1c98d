// Vectors and scores of texts over HTTP: /v1/embeddings and /v1/rerank.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "completions/embedding.h"
#include "completions/per_model.h"
#include "embed/text_model.h"
#include "http/account_threads.h"
#include "http/call.h"
#include "service/service.h"

namespace sluice::http {

/// Who a request is from. Fails: as Service::caller_of; kUnauthenticated.
using Identify = std::function<Result<service::Caller>(const Request& request, terms::Role role)>;

/// Safe from any thread.
class EmbeddingsHandler {
 public:
  /// All outlive the handler. `threads`: read texts, which may take long.
  EmbeddingsHandler(service::Service& service, Identify identify, completions::Shared& shared,
                    AccountThreads& threads)
      : service_(service), identify_(std::move(identify)), shared_(shared), threads_(threads) {}

  /// Paths behind /v1.
  static bool takes(std::string_view path);
  /// Requires: `takes` the path, and a method of POST. As Handler says.
  Cancel handle(const Request& request, std::string_view path, const Answer& answer);

 private:
  struct Job;
  struct Wanted;

  Status run(const std::shared_ptr<Job>& job);
  Result<Wanted> prepare_vectors(const Job& job);
  Result<Wanted> prepare_scores(const Job& job);
  Status find(Wanted& wanted, const Job& job, const std::string& name);

  service::Service& service_;
  const Identify identify_;
  completions::Shared& shared_;
  AccountThreads& threads_;
  completions::PerModel<embed::TextModel> models_{completions::read_text_model};
};

}  // namespace sluice::http
