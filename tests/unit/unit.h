/* cmocka, behind the headers that it needs and those of most tests. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* With what the functions setup and teardown of its file make and end. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
