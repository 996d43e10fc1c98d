// Keys and values of sequences: the memory of a model's states, in pages that sequences take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/byte_budget.h"
#include "base/result.h"
#include "terms/tensors/signature.h"

namespace sluice::generate {

/// A buffer for each state `state.NAME` [P, heads, places, size] with an output `state.NAME.next`,
/// which a run writes in place. A page is a part of every buffer. The system gives the memory of a
/// page when it is written, and takes it back with the page. Any thread takes pages and gives them
/// back. Their owners keep the pool alive.
class PagePool : public std::enable_shared_from_this<PagePool> {
 public:
  /// `most_pages`: that it will ever hold, at least 1. `budget` counts pages while somebody has
  /// them; null: nobody counts. Fails: kInvalidArgument for a signature with other states, or
  /// without any; kResourceExhausted.
  static Result<std::shared_ptr<PagePool>> create(const terms::Signature& signature,
                                                  std::int64_t most_pages,
                                                  std::shared_ptr<ByteBudget> budget = nullptr);
  struct PageSize {
    std::int64_t places = 0;  ///< tokens
    std::int64_t bytes = 0;   ///< in all buffers
  };
  /// Fails: kInvalidArgument as `create`.
  static Result<PageSize> page_size(const terms::Signature& signature);

  /// Tokens of a page.
  std::int64_t places() const { return page_.places; }
  /// Bytes of the pages that somebody has.
  std::int64_t size_bytes() const;

  /// A state's memory, which a run reads as the input and writes as the output.
  struct Binding {
    std::size_t input = 0;
    std::size_t output = 0;
    terms::TensorView view;
  };
  /// The same for the life of the pool.
  std::vector<Binding> bindings() const;

  /// A page, which goes back to the pool with the last one who shares it.
  using Page = std::shared_ptr<const std::int64_t>;
  /// Fails: kResourceExhausted if the pool is full, or as ByteBudget::charge.
  Result<Page> take();
  /// Whether all pages that it will ever hold are taken, whatever the budget says.
  bool is_full() const;

 private:
  struct State {
    Binding binding;
    std::int64_t page_bytes = 0;
    std::shared_ptr<std::byte> memory;
  };
  explicit PagePool(std::int64_t most_pages) : most_pages_(most_pages) {}
  static Result<State> state_of(const terms::Signature& signature, std::size_t input);
  static Result<std::vector<State>> states_of(const terms::Signature& signature);
  Status allocate();
  void give_back(std::int64_t page);
  std::int64_t num_taken() const { return num_used_ - std::ssize(free_); }

  const std::int64_t most_pages_;
  std::vector<State> states_;
  PageSize page_;
  mutable std::mutex mutex_;        ///< guards the rest
  std::vector<std::int64_t> free_;  ///< used before
  std::int64_t num_used_ = 0;       ///< pages below were used
  ByteCharge charge_;
};

/// The pages of one sequence in order. Used by one thread at a time.
class Pages {
 public:
  explicit Pages(std::shared_ptr<PagePool> pool) : pool_(std::move(pool)) {}

  /// Takes pages for the places below `places`; those that are there stay.
  /// Fails: as PagePool::take, with the pages taken so far.
  Status reserve(std::int64_t places);
  /// Takes the place of the pages that are there: others share these, and their tokens are
  /// computed.
  void share(std::vector<PagePool::Page> pages) { pages_ = std::move(pages); }
  /// Numbers of the pages in the pool.
  std::span<const PagePool::Page> pages() const { return pages_; }
  PagePool& pool() const { return *pool_; }

 private:
  std::shared_ptr<PagePool> pool_;
  std::vector<PagePool::Page> pages_;
};

}  // namespace sluice::generate
