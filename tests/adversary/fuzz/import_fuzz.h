/* What the fuzz targets of `canzona import` share. */
#ifndef CZ_TESTS_FUZZ_IMPORT_FUZZ_H
#define CZ_TESTS_FUZZ_IMPORT_FUZZ_H

/* Import the file: a program or errors, never both and never neither. */
void fuzz_import(const char *path);

#endif
