/* What the examples in C and C++ share: a picture of a seven, and how they print the answer. */
#ifndef SLUICE_EXAMPLES_SEVEN_H_
#define SLUICE_EXAMPLES_SEVEN_H_

#include <stdio.h>

/* 8 x 8 pixels from 0 to 1. */
static const float kSeven[64] = {
#include "seven.csv"
};

/* Prints the likeliest of ten digits. */
static inline void print_digit(const float* probabilities) {
  int best = 0;
  for (int i = 1; i < 10; ++i) best = probabilities[i] > probabilities[best] ? i : best;
  printf("it is a %d (%.1f %%)\n", best, probabilities[best] * 100);
}

#endif
