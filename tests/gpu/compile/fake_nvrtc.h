/* What our own NVRTC without a compiler makes of a text: code that ends with
 * zero, from malloc. */
#ifndef TESTS_CUDA_FAKE_NVRTC_H
#define TESTS_CUDA_FAKE_NVRTC_H

char *fake_nvrtc_code(const char *text);

#endif
