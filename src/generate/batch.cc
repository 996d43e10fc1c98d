#include "generate/batch.h"

#include <algorithm>

namespace sluice::generate {

std::int64_t rounded_rows(std::int64_t count) {
  // Forty numbers up to a chunk of a prompt of 512 tokens. A run plans each once.
  const std::int64_t step = count <= 4     ? 1
                            : count <= 16  ? 2
                            : count <= 48  ? 4
                            : count <= 128 ? 8
                                           : 32;
  return (count + step - 1) / step * step;
}

void Batch::clear() {
  ids_.clear();
  positions_.clear();
  sequences_.clear();
  tables_.clear();
  last_.clear();
  adapters_.clear();
}

void Batch::add(const Sequence::Piece& piece, const Pages& pages) {
  // A table has a column for each page that a sequence may ever have: its size says nothing about
  // lengths. Entries that no row reads stay 0.
  blocks_ = (context_ + pages.pool().places() - 1) / pages.pool().places();
  // Without memory nothing is added.
  for (auto* of_rows : {&ids_, &positions_, &sequences_}) {
    of_rows->reserve(of_rows->size() + piece.ids.size());
  }
  tables_.reserve(tables_.size() + static_cast<std::size_t>(blocks_));
  last_.reserve(last_.size() + 1);
  adapters_.reserve(last_.size() + 1);
  ids_.insert(ids_.end(), piece.ids.begin(), piece.ids.end());
  positions_.insert(positions_.end(), piece.positions.begin(), piece.positions.end());
  sequences_.resize(ids_.size(), num_sequences());
  tables_.resize(tables_.size() + static_cast<std::size_t>(blocks_));
  auto entry = tables_.end() - blocks_;
  for (const PagePool::Page& page : pages.pages()) *entry++ = *page;
  last_.push_back(num_rows() - 1);
  adapters_.push_back(piece.adapter);
}

void Batch::fill_up() {
  const auto rows = static_cast<std::size_t>(rounded_rows(num_rows()));
  const auto sequences = static_cast<std::size_t>(rounded_rows(num_sequences()));
  ids_.resize(rows, ids_.back());
  positions_.resize(rows, positions_.back());
  sequences_.resize(rows, sequences_.back());
  tables_.resize(sequences * static_cast<std::size_t>(blocks_));
  last_.resize(sequences, last_.back());
  adapters_.resize(sequences, adapters_.back());
}

std::vector<std::pair<std::size_t, terms::TensorView>> Batch::inputs() {
  fill_up();
  terms::TensorView tables = view_of(tables_);
  tables.dims = {num_sequences(), blocks_};
  std::vector<std::pair<std::size_t, terms::TensorView>> inputs = {
      {ports_.ids, view_of(ids_)},
      {ports_.positions, view_of(positions_)},
      {ports_.sequences, view_of(sequences_)},
      {ports_.tables, std::move(tables)},
      {ports_.last, view_of(last_)}};
  if (ports_.adapters) inputs.emplace_back(*ports_.adapters, view_of(adapters_));
  return inputs;
}

}  // namespace sluice::generate
