/* The element type of the model: float, or double where a test wants to check
 * gradients by differences.  Math calls go through <tgmath.h>. */
#ifndef EXAMPLES_TRAIN_GPT_REAL_H
#define EXAMPLES_TRAIN_GPT_REAL_H

#ifdef GPT_DOUBLE
typedef double gpt_real;
#define GPT_GEMM cblas_dgemm
#else
typedef float gpt_real;
#define GPT_GEMM cblas_sgemm
#endif

#endif
