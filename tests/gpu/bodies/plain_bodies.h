/* Kernels of product_plain.cu for the double of the driver: their own bodies,
 * on the model of the device. */
#ifndef TESTS_CUDA_PLAIN_BODIES_H
#define TESTS_CUDA_PLAIN_BODIES_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Behind fake_reset. */
void plain_bodies_register(void);
/* The double's machine code for a text that NVRTC is given; false: it is
 * another body's. */
bool plain_bodies_write_code(const char *text, char *code, size_t n);

#ifdef __cplusplus
}
#endif

#endif
