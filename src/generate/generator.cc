#include "generate/generator.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace sluice::generate {
namespace {

/// Tokens of a prompt that one run computes. Bounds the memory of a run, and the time until a stop.
constexpr std::int64_t kChunkTokens = 512;

Result<std::size_t> index_of(const std::vector<terms::TensorSpec>& specs, std::string_view name) {
  const auto found = std::ranges::find(specs, name, &terms::TensorSpec::name);
  if (found != specs.end()) return static_cast<std::size_t>(found - specs.begin());
  return invalid_argument("the model generates no text: it has no tensor \"{}\"", name);
}

terms::TensorView view_of(std::span<std::int64_t> numbers) {
  return {numbers.data(),
          static_cast<std::int64_t>(numbers.size_bytes()),
          ir::ElementType::kI64,
          {static_cast<std::int64_t>(numbers.size())}};
}

}  // namespace

Result<Generator> Generator::create(const exec::LoadedModel& model) {
  const auto& metadata = model.executable().graph.metadata;
  const auto fact = metadata.find(kFact);
  if (fact == metadata.end()) {
    return invalid_argument("the model generates no text: its package has no fact \"{}\"", kFact);
  }
  auto parsed = parse_facts(fact->second);
  Facts facts = SLUICE_TRY(std::move(parsed).with_context(kFact));
  Cache cache = SLUICE_TRY(Cache::create(model.signature()));
  Generator generator(SLUICE_TRY(model.create_context()), std::move(cache), std::move(facts));
  SLUICE_TRY(generator.read_signature(model.signature()));
  return generator;
}

Status Generator::read_signature(const terms::Signature& signature) {
  ids_input_ = SLUICE_TRY(index_of(signature.inputs, "ids"));
  positions_input_ = SLUICE_TRY(index_of(signature.inputs, "positions"));
  logits_output_ = SLUICE_TRY(index_of(signature.outputs, "logits"));
  const auto dims = signature.outputs[logits_output_].type.static_dims();
  const bool is_row = dims && dims->size() == 2 && (*dims)[0] == 1;
  const ir::Type& type = signature.outputs[logits_output_].type;
  if (!is_row || type.element() != ir::ElementType::kF32) {
    return invalid_argument("output \"logits\" is {}, not f32[1, vocabulary]", type.to_string());
  }
  vocabulary_ = (*dims)[1];
  return ok_status();
}

std::int64_t Generator::limit() const {
  const auto prompt = static_cast<std::int64_t>(request_.prompt.size());
  const std::int64_t room = facts_.context - prompt;
  return prompt + std::min(room, request_.max_tokens.value_or(room));
}

Status Generator::start(Request request) {
  SLUICE_TRY(request.sampling.check());
  const auto count = static_cast<std::int64_t>(request.prompt.size());
  if (count == 0) return invalid_argument("the prompt has no tokens");
  for (const std::int64_t id : request.prompt) {
    if (id >= 0 && id < vocabulary_) continue;
    return invalid_argument("the prompt has the id {}; the model has tokens 0 to {}", id,
                            vocabulary_ - 1);
  }
  const std::int64_t wanted = request.max_tokens.value_or(0);
  if (wanted < 0) return invalid_argument("max_tokens is {}; it takes 0 or more", wanted);
  if (count > facts_.context || wanted > facts_.context - count) {
    return make_error(Code::kOutOfRange,
                      "the prompt has {} tokens and {} may follow; the model's context has {}",
                      count, wanted, facts_.context);
  }
  // The last token of the prompt is always computed: its logits are wanted.
  const auto most = std::min(static_cast<std::size_t>(computed_), request.prompt.size() - 1);
  const auto first_other =
      std::mismatch(request.prompt.begin(),
                    request.prompt.begin() + static_cast<std::ptrdiff_t>(most), tokens_.begin());
  computed_ = first_other.first - request.prompt.begin();
  tokens_ = request.prompt;
  sampler_ = Sampler(request.sampling);
  request_ = std::move(request);
  finish_ = Finish::kNone;
  logits_ = {};
  return ok_status();
}

bool Generator::is_stop(std::int64_t token) const {
  return std::ranges::find(facts_.stops, token) != facts_.stops.end() ||
         std::ranges::find(request_.stops, token) != request_.stops.end();
}

Result<std::optional<std::int64_t>> Generator::next() {
  if (request_.prompt.empty()) {
    return make_error(Code::kFailedPrecondition, "no prompt was given");
  }
  if (finish_ != Finish::kNone) return std::optional<std::int64_t>();
  const auto count = static_cast<std::int64_t>(tokens_.size());
  if (count >= limit()) {
    finish_ = count >= facts_.context ? Finish::kContext : Finish::kTokens;
    return std::optional<std::int64_t>();
  }
  SLUICE_TRY(advance());
  const std::int64_t token = SLUICE_TRY(sampler_.choose(logits_, tokens_));
  if (is_stop(token)) {
    finish_ = Finish::kStop;
    return std::optional<std::int64_t>();
  }
  tokens_.push_back(token);
  return std::optional(token);
}

/// Computes the tokens that are not in the cache.
Status Generator::advance() {
  const auto count = static_cast<std::int64_t>(tokens_.size());
  while (computed_ < count) {
    if (request_.stop.stop_requested()) {
      return make_error(Code::kCancelled, "the generation was stopped after {} tokens", computed_);
    }
    SLUICE_TRY(run(computed_, std::min(count, computed_ + kChunkTokens)));
  }
  return ok_status();
}

Status Generator::run(std::int64_t begin, std::int64_t end) {
  SLUICE_TRY(cache_.reserve(end, facts_.context, context_));
  positions_.resize(static_cast<std::size_t>(end - begin));
  std::iota(positions_.begin(), positions_.end(), begin);
  const std::span ids = std::span(tokens_).subspan(static_cast<std::size_t>(begin),
                                                   static_cast<std::size_t>(end - begin));
  SLUICE_TRY(context_.set_input(ids_input_, view_of(ids)));
  SLUICE_TRY(context_.set_input(positions_input_, view_of(positions_)));
  SLUICE_TRY(context_.run());
  computed_ = end;
  const terms::TensorView& output = context_.output(logits_output_);
  logits_ = {static_cast<const float*>(output.data), static_cast<std::size_t>(vocabulary_)};
  return ok_status();
}

}  // namespace sluice::generate
