#include "generate/pages/page_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/checked.h"

namespace sluice::generate {
namespace {

constexpr std::string_view kPrefix = "state.";

/// Zeros, which the system gives their memory at the first write. Null if it has too few addresses.
std::shared_ptr<std::byte> lazy_zeros(std::size_t size) {
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return {static_cast<std::byte*>(memory), [size](std::byte* data) { ::munmap(data, size); }};
}

/// Gives the system its whole pages between two places of `memory`, which are zeros then.
void make_zeros(std::byte* memory, std::int64_t begin, std::int64_t end) {
  static const std::int64_t kSystemPage = ::sysconf(_SC_PAGESIZE);
  // Whole pages of the system alone: what shares one with a neighbour's bytes stays.
  const std::int64_t first = (begin + kSystemPage - 1) / kSystemPage * kSystemPage;
  const std::int64_t last = end / kSystemPage * kSystemPage;
  if (first >= last) return;
  ::madvise(memory + first, static_cast<std::size_t>(last - first), MADV_DONTNEED);
}

}  // namespace

Result<PagePool::State> PagePool::state_of(const terms::Signature& signature, std::size_t input) {
  const terms::TensorSpec& spec = signature.inputs[input];
  const auto output =
      std::ranges::find(signature.outputs, spec.name + ".next", &terms::TensorSpec::name);
  const ir::Shape* shape = spec.type.shape();
  const auto is_positive = [](const ir::Dim& dim) { return dim.is_known() && dim.value() > 0; };
  const bool fits = output != signature.outputs.end() && shape != nullptr && shape->size() == 4 &&
                    !(*shape)[0].is_known() && is_positive((*shape)[1]) &&
                    is_positive((*shape)[2]) && is_positive((*shape)[3]) &&
                    output->type == spec.type;
  if (!fits) {
    return invalid_argument(
        "input \"{}\" is {}, not a state [P, heads, places, size] with its next value among the "
        "outputs; a package of an older Sluice has others, so compile the model again",
        spec.name, spec.type.to_string());
  }
  const std::int64_t dims[] = {(*shape)[1].value(), (*shape)[2].value(), (*shape)[3].value()};
  const auto elements = checked_product(dims);
  const auto bytes = elements ? ir::storage_bytes(spec.type.element(), *elements) : std::nullopt;
  if (!bytes) return invalid_argument("a page of input \"{}\" is too large", spec.name);
  State state;
  state.binding.input = input;
  state.binding.output = static_cast<std::size_t>(output - signature.outputs.begin());
  state.binding.view.element = spec.type.element();
  state.binding.view.dims = {0, dims[0], dims[1], dims[2]};
  state.page_bytes = *bytes;
  return state;
}

Result<std::vector<PagePool::State>> PagePool::states_of(const terms::Signature& signature) {
  std::vector<State> states;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    if (!signature.inputs[i].name.starts_with(kPrefix)) continue;
    states.push_back(SLUICE_TRY(state_of(signature, i)));
    if (states.back().binding.view.dims[2] == states.front().binding.view.dims[2]) continue;
    return invalid_argument("the states have pages of different sizes");
  }
  if (!states.empty()) return states;
  return invalid_argument("the model has no states that keep keys and values");
}

Result<PagePool::PageSize> PagePool::page_size(const terms::Signature& signature) {
  const std::vector<State> states = SLUICE_TRY(states_of(signature));
  PageSize size;
  size.places = states.front().binding.view.dims[2];
  for (const State& state : states) {
    const auto sum = checked_add(size.bytes, state.page_bytes);
    if (!sum) return invalid_argument("a page of all states is too large");
    size.bytes = *sum;
  }
  return size;
}

Result<std::shared_ptr<PagePool>> PagePool::create(const terms::Signature& signature,
                                                   std::int64_t most_pages,
                                                   std::shared_ptr<ByteBudget> budget) {
  std::shared_ptr<PagePool> pool(new PagePool(std::max<std::int64_t>(most_pages, 1)));
  pool->page_ = SLUICE_TRY(page_size(signature));
  pool->states_ = SLUICE_TRY(states_of(signature));
  SLUICE_TRY(pool->allocate());
  if (budget != nullptr) pool->charge_ = SLUICE_TRY(ByteCharge::take(std::move(budget), 0));
  return pool;
}

Status PagePool::allocate() {
  for (State& state : states_) {
    const auto bytes = checked_mul(state.page_bytes, most_pages_);
    if (bytes && *bytes < std::numeric_limits<std::int64_t>::max() / 2) {
      state.memory = lazy_zeros(static_cast<std::size_t>(*bytes));
    }
    if (state.memory == nullptr) {
      return make_error(Code::kResourceExhausted,
                        "there is no memory for {} pages of {} bytes of keys and values",
                        most_pages_, page_.bytes);
    }
    state.binding.view.data = state.memory.get();
    state.binding.view.size_bytes = *bytes;
    state.binding.view.dims[0] = most_pages_;
  }
  return ok_status();
}

std::vector<PagePool::Binding> PagePool::bindings() const {
  std::vector<Binding> bindings;
  for (const State& state : states_) bindings.push_back(state.binding);
  return bindings;
}

std::int64_t PagePool::size_bytes() const {
  const std::lock_guard lock(mutex_);
  // What sequences hold, not what is mapped: the map is as large as the limit and takes memory as
  // it is used.
  return num_taken() * page_.bytes;
}

bool PagePool::is_full() const {
  const std::lock_guard lock(mutex_);
  return num_taken() == most_pages_;
}

Result<PagePool::Page> PagePool::take() {
  // The handle first: without memory for it no page is lost.
  auto number = std::make_unique<std::int64_t>(0);
  {
    const std::lock_guard lock(mutex_);
    if (num_taken() == most_pages_) {
      return make_error(Code::kResourceExhausted, "all {} pages of keys and values are in use",
                        most_pages_);
    }
    // Giving back allocates nothing.
    const auto used = static_cast<std::size_t>(num_used_);
    if (free_.capacity() <= used) free_.reserve(2 * used + 16);
    SLUICE_TRY(charge_.resize((num_taken() + 1) * page_.bytes));
    if (free_.empty()) {
      // Pages that were used before go first, so memory grows only with the largest number in use.
      *number = num_used_++;
    } else {
      *number = free_.back();
      free_.pop_back();
    }
  }
  // The deleter holds the pool: pages may outlive whoever made it.
  return Page(number.release(), [self = shared_from_this()](const std::int64_t* page) {
    self->give_back(*page);
    delete page;
  });
}

void PagePool::give_back(std::int64_t page) {
  // Before another may take the page.
  for (const State& state : states_) {
    make_zeros(state.memory.get(), page * state.page_bytes, (page + 1) * state.page_bytes);
  }
  const std::lock_guard lock(mutex_);
  free_.push_back(page);
  (void)charge_.resize(num_taken() * page_.bytes);  // less never fails
}

Status Pages::reserve(std::int64_t places) {
  // Pages that were taken before a failure stay: the next try goes on from there.
  while (std::ssize(pages_) * pool_->places() < places) {
    pages_.push_back(SLUICE_TRY(pool_->take()));
  }
  return ok_status();
}

}  // namespace sluice::generate
