// OpenAI's API over HTTP: models, completions, and embeddings beside; and Triton's generate routes
// by the same code.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "completions/account_numbers.h"
#include "completions/generation.h"
#include "completions/language_model.h"
#include "completions/per_model.h"
#include "completions/text_starter.h"
#include "http/account_threads.h"
#include "http/call.h"
#include "http/embeddings/embeddings_handler.h"
#include "service/prometheus/text.h"
#include "service/service.h"

namespace sluice::http {

struct TextCall;

/// Safe from any thread.
class CompletionsHandler final : public completions::TextStarter {
 public:
  /// `service` outlives the handler. `cache_bytes`: of the caches of all texts in the making.
  CompletionsHandler(service::Service& service, Identify identify, std::int64_t cache_bytes);
  ~CompletionsHandler() override;

  /// Paths under /v1, and others of /v1/rerank.
  static bool takes(std::string_view path);
  /// Requires: `takes` the path. As Handler says.
  Cancel handle(const Request& request, const Answer& answer);
  /// /v2/models/NAME/generate, or generate_stream. `version`: as open_inference::find_model.
  Cancel generate(const Request& request, const std::string& name, const std::string& version,
                  bool is_streamed, const Answer& answer);
  /// For another door.
  void start_text(completions::GenerateCall call, std::shared_ptr<completions::StartedText> text,
                  std::shared_ptr<completions::TextSink> sink) override;
  /// Refuses requests for texts from now on, and waits for those that are being written, at most
  /// until `deadline_ns` on the system's clock.
  void drain(std::int64_t deadline_ns);
  /// Counts of texts.
  void add_metrics(service::PrometheusText& to) const;

 private:
  struct Job;
  struct Prepared;
  struct Made;
  /// What a list of models says of one.
  struct Listing {
    std::vector<std::string> endpoints;  ///< paths that take its requests; none: it takes no texts
    std::vector<std::string> adapters;
  };
  static Result<std::shared_ptr<const Listing>> read_listing(const dispatch::ModelRef& model);

  Reply look(const Request& request, std::string_view path);
  Result<std::string> list_models(const Request& request, std::string_view name);
  Cancel start(const std::shared_ptr<Job>& job);
  Status run(const std::shared_ptr<Job>& job);
  Result<Prepared> prepare(const Job& job);
  Result<std::shared_ptr<dispatch::ModelRef>> find_model(const Job& job, const std::string& name,
                                                         TextCall& call);
  Status run_text(const completions::GenerateCall& call, completions::StartedText& text,
                  const std::shared_ptr<completions::TextSink>& sink);
  Result<Made> make(TextCall& call, const std::shared_ptr<dispatch::ModelRef>& model,
                    const std::string& account, const dispatch::RequestLimits& limits);

  service::Service& service_;
  const Identify identify_;
  const std::int64_t started_seconds_;
  completions::PerModel<completions::LanguageModel> languages_{completions::read_language_model};
  completions::PerModel<Listing> listings_{read_listing};
  completions::Shared texts_;
  completions::AccountNumbers accounts_;
  EmbeddingsHandler embeddings_{service_, identify_, texts_, threads_};
  /// Last: its calls use the others. A prompt of megabytes takes a second to read, and the
  /// connections' threads must not wait.
  AccountThreads threads_{2, 1024, service_.log()};
};

}  // namespace sluice::http
