#include "text/models/merge_word.h"

#include <algorithm>
#include <functional>

namespace sluice::text {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

struct Symbol {
  TokenId token;  ///< not valid once it was merged into its left neighbour
  std::uint32_t previous;
  std::uint32_t next;
};

struct Candidate {
  std::uint64_t rank_and_place;  ///< the order in which merges happen
  TokenId result;

  std::uint32_t place() const { return static_cast<std::uint32_t>(rank_and_place); }
  bool operator>(const Candidate& other) const { return rank_and_place > other.rank_and_place; }
};

const Merge* find_merge(const Merges& merges, TokenId left, TokenId right) {
  return merges.find(Merges::key(static_cast<std::uint32_t>(left.value()),
                                 static_cast<std::uint32_t>(right.value())));
}

/// A word as a list, and the merges that may be next, as a heap. A candidate whose symbols have
/// changed stays in the heap; `apply` drops it.
class Loop {
 public:
  Loop(const Merges& merges, const std::vector<TokenId>& word) : merges_(merges) {
    const auto size = static_cast<std::uint32_t>(word.size());
    symbols_.reserve(size);
    for (std::uint32_t i = 0; i < size; ++i) {
      symbols_.push_back({word[i], i == 0 ? kNone : i - 1, i + 1 == size ? kNone : i + 1});
    }
    for (std::uint32_t i = 0; i + 1 < size; ++i) consider(i);
    std::ranges::make_heap(heap_, std::greater<>());
    is_heap_ = true;
  }

  void run() {
    while (!heap_.empty()) {
      const Candidate best = heap_.front();
      std::ranges::pop_heap(heap_, std::greater<>());
      heap_.pop_back();
      apply(best);
    }
  }

  void store(std::vector<TokenId>& word) const {
    word.clear();
    for (const Symbol& symbol : symbols_) {
      if (symbol.token.is_valid()) word.push_back(symbol.token);
    }
  }

 private:
  void consider(std::uint32_t place) {
    const Symbol& left = symbols_[place];
    const Merge* merge = find_merge(merges_, left.token, symbols_[left.next].token);
    if (merge == nullptr) return;
    heap_.push_back({std::uint64_t{merge->rank} << 32U | place, merge->result});
    if (is_heap_) std::ranges::push_heap(heap_, std::greater<>());
  }

  void apply(const Candidate& candidate) {
    const std::uint32_t place = candidate.place();
    Symbol& left = symbols_[place];
    if (!left.token.is_valid() || left.next == kNone) return;
    Symbol& right = symbols_[left.next];
    const Merge* merge = find_merge(merges_, left.token, right.token);
    if (merge == nullptr || merge->result != candidate.result) return;  // one of them has changed
    left.token = merge->result;
    left.next = right.next;
    right.token = TokenId();
    if (left.next != kNone) symbols_[left.next].previous = place;
    if (left.previous != kNone) consider(left.previous);
    if (left.next != kNone) consider(place);
  }

  const Merges& merges_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
  bool is_heap_ = false;
};

}  // namespace

void merge_word(const Merges& merges, std::vector<TokenId>& word) {
  if (word.size() < 2) return;
  Loop loop(merges, word);
  loop.run();
  loop.store(word);
}

}  // namespace sluice::text
