/* For the double of the driver: the machine code of a product's text is a
 * kernel of the name that KERNEL has there. */
#include "tests/cuda/driver/plain_bodies.h"
#include "tests/cuda/driver/product_bodies.h"
#include "tests/cuda/fake_nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *fake_nvrtc_code(const char *text)
{
    char kernel[64], *code = malloc(BODIES_CODE);

    if (!code || sscanf(text, "#define KERNEL %63s", kernel) != 1) {
        free(code);
        return NULL;
    }
    if (plain_bodies_write_code(text, code, BODIES_CODE))
        return code;
    bodies_write_code(kernel, strstr(text, "#define BM") != NULL, code);
    return code;
}
