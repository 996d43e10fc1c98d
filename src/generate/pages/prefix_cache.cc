#include "generate/pages/prefix_cache.h"

#include <algorithm>

namespace sluice::generate {
namespace {

/// Tells accounts from nodes, whose numbers count from 1.
constexpr std::uint64_t kAccounts = std::uint64_t{1} << 63U;

}  // namespace

void PrefixCache::set_most_pages(std::int64_t most_pages) {
  std::vector<PagePool::Page> gone;  // as in `keep`
  const std::lock_guard lock(mutex_);
  most_pages_ = static_cast<std::size_t>(std::max<std::int64_t>(0, most_pages));
  if (nodes_.size() > most_pages_) gone.reserve(nodes_.size() - most_pages_);
  while (nodes_.size() > most_pages_) {
    auto page = take_oldest(nullptr);
    if (page == nullptr) return;
    gone.push_back(std::move(page));
  }
}

std::vector<PagePool::Page> PrefixCache::find(Tokens tokens, std::int64_t places,
                                              std::uint64_t account) {
  const auto size = static_cast<std::size_t>(places);
  std::vector<PagePool::Page> pages;
  const std::lock_guard lock(mutex_);
  ++clock_;
  std::uint64_t before = kAccounts | account;
  Node* last = nullptr;
  // The last token is always computed: its logits are wanted.
  for (std::size_t end = size; end < tokens.size(); end += size) {
    Node* const found = find_node(before, tokens.subspan(end - size, size));
    if (found == nullptr) break;
    last = found;
    pages.push_back(found->page);
    before = found->id;
  }
  if (last != nullptr) use(*last);
  return pages;
}

void PrefixCache::keep(Tokens tokens, std::span<const PagePool::Page> pages, std::int64_t places,
                       Mark& mark, std::uint64_t account) {
  const auto size = static_cast<std::size_t>(places);
  const std::size_t num_full = std::min(pages.size(), tokens.size() / size);
  std::vector<PagePool::Page> gone;  // go back at the end, without the lock
  gone.reserve(pages.size());
  const std::lock_guard lock(mutex_);
  ++clock_;
  const auto page_at = [&](std::size_t i) { return tokens.subspan(i * size, size); };
  Node* before = nullptr;
  if (mark.num_pages > 0 && mark.num_pages <= num_full) {
    before = find_node(mark.before, page_at(mark.num_pages - 1));
  }
  // The page of the mark may be gone: the text perhaps has one of its own.
  std::size_t i = before == nullptr ? 0 : mark.num_pages;
  const auto leave = [&] {
    mark = before == nullptr ? Mark{} : Mark{before->key->before, i};
    if (before != nullptr) use(*before);
  };
  for (; i < num_full; ++i) {
    const std::uint64_t id = before == nullptr ? kAccounts | account : before->id;
    if (Node* const node = find_node(id, page_at(i))) {
      before = node;
      continue;
    }
    while (nodes_.size() >= most_pages_) {
      // The new page follows the page `before`, which may belong to a text that ended.
      auto oldest = take_oldest(before);
      if (oldest == nullptr) return leave();
      gone.push_back(std::move(oldest));
    }
    const Tokens page = page_at(i);
    before = &add_node({id, {page.begin(), page.end()}}, pages[i], before);
  }
  leave();
}

bool PrefixCache::give_back() {
  PagePool::Page page;  // goes back at the end, without the lock
  const std::lock_guard lock(mutex_);
  page = take_oldest(nullptr);
  return page != nullptr;
}

std::size_t PrefixCache::num_pages() const {
  const std::lock_guard lock(mutex_);
  return nodes_.size();
}

PrefixCache::Node* PrefixCache::find_node(std::uint64_t before, Tokens page) {
  const auto found = nodes_.find({before, {page.begin(), page.end()}});
  return found == nodes_.end() ? nullptr : &found->second;
}

/// Changes nothing where it finds no memory.
PrefixCache::Node& PrefixCache::add_node(Key key, PagePool::Page page, Node* before) {
  Leaves leaf;
  leaf.emplace();
  const auto at = nodes_.try_emplace(std::move(key)).first;
  Node& node = at->second;
  node.id = ++last_id_;
  node.page = std::move(page);
  node.key = &at->first;
  node.before = before;
  node.used_at = clock_;
  node.leaf = leaf.extract(leaf.begin());
  if (before != nullptr && before->num_next++ == 0) stop_being_leaf(*before);
  become_leaf(node);
  return node;
}

void PrefixCache::use(Node& node) {
  const bool is_leaf = node.num_next == 0;
  if (is_leaf) stop_being_leaf(node);
  node.used_at = clock_;
  if (is_leaf) become_leaf(node);
}

void PrefixCache::become_leaf(Node& node) {
  node.leaf.value() = {node.used_at, &node};
  leaves_.insert(std::move(node.leaf));
}

void PrefixCache::stop_being_leaf(Node& node) {
  node.leaf = leaves_.extract({node.used_at, &node});
}

/// Null if there is none but `except`, or texts share all. Who shares a page shares those before
/// it, too, or computed them in pages of its own: a leaf that nobody shares may go.
PagePool::Page PrefixCache::take_oldest(const Node* except) {
  const auto oldest = std::ranges::find_if(leaves_, [&](const auto& leaf) {
    return leaf.second != except && leaf.second->page.use_count() == 1;
  });
  if (oldest == leaves_.end()) return nullptr;
  Node& node = *oldest->second;
  leaves_.erase(oldest);
  PagePool::Page page = std::move(node.page);
  if (Node* const before = node.before; before != nullptr && --before->num_next == 0) {
    // A use of a page is one of the pages before it, too.
    before->used_at = std::max(before->used_at, node.used_at);
    become_leaf(*before);
  }
  nodes_.erase(nodes_.find(*node.key));
  return page;
}

}  // namespace sluice::generate
