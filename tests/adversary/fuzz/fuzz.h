/* What the fuzz targets share.  A target is one C file that defines
 * LLVMFuzzerTestOneInput(); it is linked with libFuzzer (-DCANZONA_FUZZ=ON) or
 * with replay.c, a program that tries files and damages of them. */
#ifndef CZ_TESTS_FUZZ_FUZZ_H
#define CZ_TESTS_FUZZ_FUZZ_H

#include "dsl/base/diag.h"

#include <stdbool.h>
#include <stddef.h>

/* One execution on n bytes, which stay the caller's.  Returns 0. */
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

/* Unless `holds`: print `what` and the messages (NULL: none), and abort. */
void fuzz_demand(bool holds, const char *what, const cz_diags *diags);

/* Let the file `name`, in a folder of this process's own that goes when it
 * exits, hold these bytes.  Returns its path, static. */
const char *fuzz_file(const char *name, const void *bytes, size_t n);

#endif
