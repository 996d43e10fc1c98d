#include "sandbox/exchange_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace sluice::sandbox {
namespace {

using terms::OutputTensor;

constexpr OwnerId kFirst{1};
constexpr OwnerId kOther{2};
constexpr ExchangeLimits kLimits = {1000, 10};

RuntimeCode code_of(const Status& status) { return terms::runtime_code_of(status); }

/// With two owners.
ExchangeTable table_of_two() {
  ExchangeTable table;
  table.add(kFirst);
  table.add(kOther);
  return table;
}

/// A tensor of this size; `*num_living` counts the memory that still exists.
OutputTensor table_tensor(std::int64_t size_bytes, int* num_living = nullptr) {
  auto* bytes = new std::vector<std::byte>(static_cast<std::size_t>(size_bytes));
  if (num_living != nullptr) ++*num_living;
  OutputTensor tensor;
  tensor.view.element = ir::ElementType::kU8;
  tensor.view.dims = {size_bytes};
  tensor.view.data = bytes->data();
  tensor.view.size_bytes = size_bytes;
  tensor.owner = std::shared_ptr<void>(bytes, [num_living](void* dead) {
    delete static_cast<std::vector<std::byte>*>(dead);
    if (num_living != nullptr) --*num_living;
  });
  return tensor;
}

TEST(ExchangeTable, GetReturnsTheBytesWhereTheyWerePut) {
  ExchangeTable table = table_of_two();
  OutputTensor tensor = table_tensor(8);
  const void* address = tensor.view.data;
  const auto index = table.put(kFirst, std::move(tensor), 100, kLimits);
  ASSERT_TRUE(index.is_ok());
  const auto lease = table.get(kFirst, *index);
  ASSERT_TRUE(lease.is_ok());
  EXPECT_EQ((*lease)->view.data, address);
  EXPECT_EQ((*lease)->view.size_bytes, 8);
}

TEST(ExchangeTable, OtherOwnersNeitherGetNorRemove) {
  ExchangeTable table = table_of_two();
  const auto index = table.put(kFirst, table_tensor(8), 100, kLimits);
  EXPECT_EQ(code_of(table.get(kOther, *index).status()), RuntimeCode::kInvalidHandle);
  EXPECT_EQ(code_of(table.remove(kOther, *index)), RuntimeCode::kInvalidHandle);
  EXPECT_TRUE(table.remove(kFirst, *index).is_ok());
  EXPECT_EQ(code_of(table.get(kFirst, *index).status()), RuntimeCode::kInvalidHandle);
}

TEST(ExchangeTable, CopyOnADeviceStaysUntilTheTensorLeaves) {
  ExchangeTable table = table_of_two();
  const auto index = table.put(kFirst, table_tensor(8), 100, kLimits).value();
  auto copy = std::make_shared<const int>(1);
  const std::weak_ptr<const int> watched = copy;
  EXPECT_EQ(code_of(table.keep_copy(kOther, index, copy)), RuntimeCode::kInvalidHandle);
  EXPECT_TRUE(table.keep_copy(kFirst, index, copy).is_ok());
  EXPECT_TRUE(table.keep_copy(kFirst, index, copy).is_ok());
  EXPECT_EQ(copy.use_count(), 2) << "the same copy is kept once";
  copy = nullptr;
  EXPECT_FALSE(watched.expired());
  table.expire(100);
  EXPECT_TRUE(watched.expired());
}

TEST(ExchangeTable, OfferedTensorIsFoundByItsKeyUntilItLeaves) {
  ExchangeTable table = table_of_two();
  const auto index = table.put(kFirst, table_tensor(8), 100, kLimits).value();
  EXPECT_EQ(code_of(table.get_offered(index, "").status()), RuntimeCode::kInvalidHandle);
  EXPECT_EQ(code_of(table.offer(kOther, index).status()), RuntimeCode::kInvalidHandle);
  const std::string key = table.offer(kFirst, index).value();
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(table.offer(kFirst, index).value(), key);
  EXPECT_TRUE(table.get_offered(index, key).is_ok());
  EXPECT_EQ(code_of(table.get_offered(index, key + "0").status()), RuntimeCode::kInvalidHandle);
  const auto other = table.put(kFirst, table_tensor(8), 100, kLimits).value();
  EXPECT_NE(table.offer(kFirst, other).value(), key);
  EXPECT_EQ(code_of(table.get_offered(other, key).status()), RuntimeCode::kInvalidHandle);
  table.expire(100);
  EXPECT_EQ(code_of(table.get_offered(index, key).status()), RuntimeCode::kInvalidHandle);
}

TEST(ExchangeTable, RoomCountsUntilTheTensorThatTookItGoes) {
  ExchangeTable table = table_of_two();
  auto room = table.reserve(kFirst, 600, kLimits).value();
  EXPECT_EQ(table.usage(kFirst).bytes, 600);
  EXPECT_EQ(code_of(table.reserve(kFirst, 600, kLimits).status()), RuntimeCode::kOutOfResources);
  const auto index = table.put(kFirst, table_tensor(600), 100, std::move(room)).value();
  EXPECT_EQ(table.usage(kFirst).num_tensors, 1);
  EXPECT_TRUE(table.remove(kFirst, index).is_ok());
  EXPECT_EQ(table.usage(kFirst).bytes, 0);
  { const auto unused = table.reserve(kFirst, 1000, kLimits).value(); }
  EXPECT_EQ(table.usage(kFirst).bytes, 0);
}

TEST(ExchangeTable, LastLeaseFreesATensorThatHasLeft) {
  ExchangeTable table = table_of_two();
  int num_living = 0;
  const auto index = table.put(kFirst, table_tensor(8, &num_living), 100, kLimits);
  auto lease = table.get(kFirst, *index).value();
  auto copy = lease;
  table.expire(100);
  EXPECT_EQ(table.size(), 0U);
  lease = nullptr;
  EXPECT_EQ(num_living, 1);
  EXPECT_EQ(table.usage(kFirst).bytes, 8) << "counts against the quota until the last lease ends";
  copy = nullptr;
  EXPECT_EQ(num_living, 0);
  EXPECT_EQ(table.usage(kFirst).bytes, 0);
}

TEST(ExchangeTable, LeaseOutlivesItsOwnerAndTheTable) {
  int num_living = 0;
  ExchangeTable::Lease lease;
  {
    ExchangeTable table = table_of_two();
    const auto index = table.put(kFirst, table_tensor(8, &num_living), kNoDeadline, kLimits);
    lease = table.get(kFirst, *index).value();
    table.drop(kFirst);
  }
  EXPECT_EQ(num_living, 1);
  lease = nullptr;
  EXPECT_EQ(num_living, 0);
}

/// A request may outlive its session: what it keeps would stay, and no quota would count it.
TEST(ExchangeTable, OwnerThatHasEndedKeepsNothingMore) {
  ExchangeTable table = table_of_two();
  auto room = table.reserve(kFirst, 8, kLimits).value();
  table.drop(kFirst);
  int num_living = 0;
  EXPECT_EQ(code_of(table.put(kFirst, table_tensor(8, &num_living), 100, std::move(room)).status()),
            RuntimeCode::kCancelled);
  EXPECT_EQ(code_of(table.put(kFirst, table_tensor(8, &num_living), 100, kLimits).status()),
            RuntimeCode::kCancelled);
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(num_living, 0);
}

TEST(ExchangeTable, RefusesMoreThanItsLimitsAndNamesThem) {
  ExchangeTable table = table_of_two();
  EXPECT_EQ(code_of(table.put(kFirst, table_tensor(1001), 100, kLimits).status()),
            RuntimeCode::kOutOfResources);
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(table.put(kFirst, table_tensor(1), 100, kLimits).is_ok());
  const auto refused = table.put(kFirst, table_tensor(1), 100, kLimits);
  EXPECT_EQ(code_of(refused.status()), RuntimeCode::kOutOfResources);
  EXPECT_TRUE(table.put(kOther, table_tensor(1), 100, kLimits).is_ok()) << "limits are per owner";
}

TEST(ExchangeTable, RefusesMemoryThatNobodyOwns) {
  ExchangeTable table = table_of_two();
  OutputTensor tensor = table_tensor(8);
  tensor.owner = nullptr;
  EXPECT_EQ(code_of(table.put(kFirst, tensor, 100, kLimits).status()), RuntimeCode::kInvalid);
}

/// What the table should hold, written without indexes and counters.
struct Model {
  struct Tensor {
    OwnerId owner;
    std::int64_t bytes;
    std::int64_t expires_ns;
    bool is_in_table = true;
    int num_leases = 0;
  };
  std::map<terms::TensorIndex, Tensor> tensors;

  ExchangeUsage usage(OwnerId owner) const {
    ExchangeUsage usage;
    for (const auto& [index, tensor] : tensors) {
      if (tensor.owner != owner) continue;
      usage.bytes += tensor.bytes;
      ++usage.num_tensors;
    }
    return usage;
  }
  void sweep() {
    std::erase_if(tensors, [](const auto& entry) {
      return !entry.second.is_in_table && entry.second.num_leases == 0;
    });
  }
};

/// Does the same to a table and to the model, and compares what they answer.
class RandomOperations {
 public:
  explicit RandomOperations(unsigned seed) : random_(seed) {
    for (std::uint64_t owner = 0; owner < 4; ++owner) table_.add(OwnerId{owner});
  }

  void step() {
    const OwnerId owner{static_cast<std::uint64_t>(below(4))};
    const std::int64_t what = below(100);
    if (what < 35) {
      put(owner);
    } else if (what < 70) {
      get(owner, any_index());
    } else if (what < 85) {
      end_lease();
    } else if (what < 92) {
      remove(owner, any_index());
    } else if (what < 99) {
      expire();
    } else {
      drop(owner);
    }
    model_.sweep();
    ASSERT_EQ(num_living_, std::ssize(model_.tensors));
    const ExchangeUsage expected = model_.usage(owner);
    ASSERT_EQ(table_.usage(owner).bytes, expected.bytes);
    ASSERT_EQ(table_.usage(owner).num_tensors, expected.num_tensors);
  }

  /// Ends all leases and owners; returns how many tensors are left.
  int end() {
    leases_.clear();
    for (std::uint64_t owner = 0; owner < 4; ++owner) table_.drop(OwnerId{owner});
    return num_living_;
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  /// A known index, or in one of twenty calls an index that the table does not have.
  terms::TensorIndex any_index() {
    if (model_.tensors.empty() || below(20) == 0) {
      return terms::TensorIndex{static_cast<std::uint64_t>(below(1000))};
    }
    return std::next(model_.tensors.begin(), below(std::ssize(model_.tensors)))->first;
  }
  Model::Tensor* find(OwnerId owner, terms::TensorIndex index) {
    const auto it = model_.tensors.find(index);
    const bool is_there =
        it != model_.tensors.end() && it->second.is_in_table && it->second.owner == owner;
    return is_there ? &it->second : nullptr;
  }

  void put(OwnerId owner) {
    const std::int64_t bytes = below(300);
    const ExchangeUsage before = model_.usage(owner);
    const bool fits =
        before.num_tensors < kLimits.max_tensors && before.bytes + bytes <= kLimits.max_bytes;
    const std::int64_t expires_ns = now_ns_ + 1 + below(200);
    const auto index = table_.put(owner, table_tensor(bytes, &num_living_), expires_ns, kLimits);
    ASSERT_EQ(index.is_ok(), fits);
    if (fits) model_.tensors[*index] = {owner, bytes, expires_ns};
  }
  void get(OwnerId owner, terms::TensorIndex index) {
    Model::Tensor* const expected = find(owner, index);
    auto lease = table_.get(owner, index);
    ASSERT_EQ(lease.is_ok(), expected != nullptr);
    if (expected == nullptr) return;
    ++expected->num_leases;
    leases_.emplace_back(index, std::move(*lease));
  }
  void end_lease() {
    if (leases_.empty()) return;
    const auto it = std::next(leases_.begin(), below(std::ssize(leases_)));
    --model_.tensors.at(it->first).num_leases;
    leases_.erase(it);
  }
  void remove(OwnerId owner, terms::TensorIndex index) {
    Model::Tensor* const expected = find(owner, index);
    ASSERT_EQ(table_.remove(owner, index).is_ok(), expected != nullptr);
    if (expected != nullptr) expected->is_in_table = false;
  }
  void expire() {
    now_ns_ += below(30);
    table_.expire(now_ns_);
    for (auto& [index, tensor] : model_.tensors) {
      if (tensor.expires_ns <= now_ns_) tensor.is_in_table = false;
    }
  }
  /// The owner's leases end first, as a session's requests do.
  void drop(OwnerId owner) {
    std::erase_if(leases_,
                  [&](const auto& lease) { return model_.tensors.at(lease.first).owner == owner; });
    table_.drop(owner);
    table_.add(owner);  // another one, in the model
    std::erase_if(model_.tensors, [&](const auto& entry) { return entry.second.owner == owner; });
  }

  std::mt19937 random_;
  ExchangeTable table_;
  Model model_;
  std::vector<std::pair<terms::TensorIndex, ExchangeTable::Lease>> leases_;
  int num_living_ = 0;
  std::int64_t now_ns_ = 0;
};

TEST(ExchangeTable, Follows100000RandomOperationsOfAModel) {
  RandomOperations operations(3);
  for (int step = 0; step < 100'000; ++step) {
    operations.step();
    ASSERT_FALSE(HasFatalFailure()) << "step " << step;
  }
  EXPECT_EQ(operations.end(), 0) << "nothing leaks";
}

TEST(ExchangeTable, ChargesThePayerUntilTheLastLeaseEnds) {
  const auto payer = std::make_shared<ByteBudget>(20);
  ExchangeTable table;
  table.add(kFirst, payer);
  table.add(kOther, payer);
  const auto index = table.put(kFirst, table_tensor(12), kNoDeadline, kLimits);
  ASSERT_TRUE(index.is_ok());
  EXPECT_EQ(code_of(table.put(kOther, table_tensor(12), kNoDeadline, kLimits).status()),
            RuntimeCode::kOutOfResources);
  auto lease = table.get(kFirst, *index).value();
  ASSERT_TRUE(table.remove(kFirst, *index).is_ok());
  EXPECT_EQ(payer->held_bytes(), 12) << "somebody reads it";
  lease = nullptr;
  EXPECT_EQ(payer->held_bytes(), 0);
  EXPECT_TRUE(table.put(kOther, table_tensor(12), kNoDeadline, kLimits).is_ok());
}

}  // namespace
}  // namespace sluice::sandbox
