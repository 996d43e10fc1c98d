// What happens to a score between its product and the softmax: scale, cap, masks, causality. All
// kernels of attention share this text.
#pragma once

#include <string>

#include "plugin/generate/attention/problem.h"
#include "plugin/generate/text/text.h"

namespace sluice::cuda {

/// `weight_of(score, most)`: exp(score - most), but 0 where no key is seen, and `most` -infinity.
extern const char* const kWeightText;

/// Writes the statements of one kernel. Adds the operands that they read to the parameters.
class Scores {
 public:
  /// Borrows all three.
  Scores(const sluice_op& op, const Problem& problem, Parameters* parameters)
      : op_(op), p_(problem), attributes_(op), parameters_(*parameters) {}

  /// Adds the operands that every kernel reads, ahead of the other calls.
  void add_operands();

  /// Defines `T`, the type of the elements, ahead of a kernel.
  std::string element() const;

  /// `key_at(j)` and `value_at(j)`, which point at the elements of place j among past and new keys.
  /// Requires around the calls: `batch`, and `kv`, the head of the keys.
  std::string point_at_keys() const;

  /// A type `Query` and `find_query(batch, head, query)`: what a query knows of itself: its
  /// elements `q`, its result `y`, its number `row` among the rows of scores, its `place` among the
  /// keys, and `sees_any`, which becomes true where nothing hides a key. Also `Signed`, an integer
  /// of places.
  std::string query();

  /// `adjust(own, s, j, is_at_edge, is_shown)`: the score of key j for Query `own` whose product is
  /// s. Without is_at_edge causality, windows and lengths hide nothing. With is_shown it is stored
  /// where output 3 wants it. Requires ahead of it: query().
  std::string adjust();

  /// `begin` and `end`, the keys that some of the queries see whose places among the keys are from
  /// `lowest` to `highest`; and `inner_begin` and `inner_end`, those that are at no edge for any.
  /// Requires ahead of it: query(), `batch`, variables `lowest` and `highest`.
  std::string sight() const;

  /// What is added to a query's number to get its place. Requires: `batch`.
  std::string before() const;

  /// A condition: a query gets zeros. `own`: the Query. `sum`: of its weights, NaN or 0 where the
  /// softmax has no value.
  std::string is_zero(const std::string& own, const std::string& sum) const;

  /// All threads copy past and new keys or values to outputs that want them together. `thread` is
  /// the number of a thread among all `num_threads`.
  std::string join_past(const std::string& thread, std::int64_t num_threads);

  /// What output 3 shows: 0 scores, 1 behind the cap, 2 behind the mask, 3 weights; -1: nothing.
  std::int64_t stage() const;

  /// The largest number that an index of the kernel has.
  std::int64_t largest(std::int64_t num_threads) const;

  const Problem& problem() const { return p_; }
  const sluice_op& op() const { return op_; }

 private:
  std::string point(const char* name, const Heads& heads, int now, int past, const char* b,
                    const char* head, const char* at) const;
  std::string join_past(int output, const Heads& heads, int now, int past,
                        const std::string& thread, std::int64_t num_threads);
  std::string mask_line(int input) const;
  std::string mask_element(int input, const char* line);
  std::string hidden() const;
  std::string show(std::int64_t wanted) const;
  bool is_causal() const { return attributes_.get_int("is_causal") != 0; }
  std::int64_t left() const;
  std::int64_t right() const;
  bool has_keep() const { return is_own(op_) && has_input(op_, kKeep); }

  const sluice_op& op_;
  const Problem& p_;
  plugin::Attributes attributes_;
  Parameters& parameters_;
};

}  // namespace sluice::cuda
