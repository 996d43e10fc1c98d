#include "embed/batches.h"

#include <algorithm>
#include <map>

#include "generate/batch.h"

namespace sluice::embed {
namespace {

/// Tokens of a run, those that fill up included. Bounds its memory, and how long others wait.
constexpr std::int64_t kRunTokens = 4096;
constexpr std::int64_t kRunTexts = 32;
/// Short texts have one length, so that most queries meet in a run.
constexpr std::int64_t kLeastLength = 16;

std::int64_t padded_length(std::int64_t count, const Facts& facts) {
  return std::min(facts.context, std::max(kLeastLength, generate::rounded_rows(count)));
}

}  // namespace

std::vector<Batch> plan_batches(std::span<const text::Encoding> texts, const Facts& facts) {
  std::vector<Batch> done;
  std::map<std::int64_t, Batch> open;  // by length
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::int64_t length = padded_length(std::ssize(texts[i].ids), facts);
    Batch& batch = open[length];
    batch.length = length;
    batch.texts.push_back(i);
    const std::int64_t most = std::clamp(kRunTokens / length, std::int64_t{1}, kRunTexts);
    if (std::ssize(batch.texts) < most) continue;
    done.push_back(std::move(batch));
    open.erase(length);
  }
  for (auto& [length, batch] : open) done.push_back(std::move(batch));
  return done;
}

Rows::Rows(const Batch& batch, std::span<const text::Encoding> texts, const Facts& facts)
    : num_rows_(std::ssize(batch.texts)), length_(batch.length) {
  const auto count = static_cast<std::size_t>(num_rows_ * length_);
  ids_.assign(count, facts.padding);
  mask_.assign(count, 0);
  types_.assign(count, 0);
  std::ptrdiff_t row = 0;
  for (const std::size_t text : batch.texts) {
    const text::Encoding& tokens = texts[text];
    std::ranges::transform(tokens.ids, ids_.begin() + row, [](auto id) { return id.value(); });
    std::fill_n(mask_.begin() + row, tokens.ids.size(), 1);
    std::ranges::copy(tokens.type_ids, types_.begin() + row);
    row += static_cast<std::ptrdiff_t>(length_);
  }
}

terms::TensorView Rows::view_of(std::vector<std::int64_t>& numbers) const {
  return {numbers.data(),
          static_cast<std::int64_t>(numbers.size() * sizeof(std::int64_t)),
          ir::ElementType::kI64,
          {num_rows_, length_}};
}

std::vector<std::pair<std::size_t, terms::TensorView>> Rows::inputs(const Ports& ports) {
  std::vector<std::pair<std::size_t, terms::TensorView>> inputs;
  inputs.emplace_back(ports.ids, view_of(ids_));
  inputs.emplace_back(ports.mask, view_of(mask_));
  if (ports.types) inputs.emplace_back(*ports.types, view_of(types_));
  return inputs;
}

}  // namespace sluice::embed
