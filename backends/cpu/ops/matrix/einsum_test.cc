// Einsum as a strided product agrees with the reference kernel.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/agreement.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

struct Case {
  const char* equation;
  Shape a, b, y;
};

std::int64_t elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return count;
}

TestOp& fill(const Case& c, TestOp& op) {
  return op.input(c.a, random_floats(elements(c.a), 1))
      .input(c.b, random_floats(elements(c.b), 2))
      .output(c.y)
      .attribute("equation", c.equation);
}

TEST(Einsum, IsAStridedProduct) {
  const std::vector<Case> cases = {{"ij,jk->ik", {3, 5}, {5, 17}, {3, 17}},
                                   {"ij,jk->ki", {3, 5}, {5, 17}, {17, 3}},
                                   {"ji,kj->ik", {5, 3}, {17, 5}, {3, 17}},
                                   {"nchw,kc->nkhw", {2, 5, 3, 4}, {7, 5}, {2, 7, 3, 4}},
                                   {"bqhc,bkhc->bhqk", {2, 6, 3, 8}, {2, 9, 3, 8}, {2, 3, 6, 9}},
                                   {"bhqk, bkhc -> bqhc", {2, 3, 6, 9}, {2, 9, 3, 8}, {2, 6, 3, 8}},
                                   {"bhid,bhjd->bhij", {1, 2, 5, 4}, {1, 2, 33, 4}, {1, 2, 5, 33}},
                                   {"i,j->ij", {19}, {6}, {19, 6}},
                                   {"i,i->", {19}, {19}, {}},
                                   {"bij,jk->bik", {1, 4, 5}, {5, 1}, {1, 4, 1}},
                                   {"abc,bcd->ad", {3, 4, 5}, {4, 5, 6}, {3, 6}},
                                   {"bij,bjk->bik", {1, 4, 5}, {3, 5, 6}, {3, 4, 6}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.equation);
    expect_agreement([&](TestOp& op) { fill(c, op); }, {.kind = "Einsum", .version = 12});
  }
}

TEST(Einsum, LeavesOtherFormsToTheReferenceKernel) {
  const std::vector<Case> cases = {{"ij,ik->i", {3, 5}, {3, 4}, {3}},
                                   {"ii,ij->j", {3, 3}, {3, 4}, {4}},
                                   {"...i,i->...", {3, 5}, {5}, {3}},
                                   {"jik,kij->i", {2, 3, 4}, {4, 3, 2}, {3}},
                                   {"ij,jk->ik", {3, 1}, {5, 2}, {3, 2}}};
  for (const Case& c : cases) {
    TestOp op("Einsum", "", 12);
    std::unique_ptr<Kernel> kernel;
    ASSERT_TRUE(fill(c, op).make(Backend(), &kernel).is_ok()) << c.equation;
    EXPECT_TRUE(kernel->is_generic()) << c.equation;
  }
}

}  // namespace
}  // namespace sluice::cpu
