/* How fast what a rule computes grows with its gradients, and so how large
 * they may be.  A value has degree d when gradients that are all s times as
 * large, at all updates, make it about s^d times as large: an update by Muon 0,
 * a momentum 1, Adam's second moment 2. */
#ifndef CZ_DSL_PLAN_GROWTH_H
#define CZ_DSL_PLAN_GROWTH_H

#include "dsl/plan/plan.h"

/* Numbers of f32 lie below 2^128.  What is made of gradients stays below 2^108
 * if taken element by element, which leaves 2^20 for sums. */
enum { CZ_GROWTH_LIMIT = 108 };

/* The power of two that elements of the rule's gradients have to stay below, in
 * magnitude: CZ_GROWTH_LIMIT over the largest degree of a value in f32 or bf16,
 * which is at least 1.  Needs kernel form. */
int cz_growth_limit(const cz_plan_view *view, int rule);

#endif
