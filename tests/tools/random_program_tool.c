/* Prints the random program of a seed. */
#include "tests/unit/passes/reference/random_program.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    cz_text text;

    if (argc != 2)
        return 2;
    cz_text_init(&text);
    rp_program((unsigned)strtoul(argv[1], NULL, 10), &text);
    fwrite(text.bytes, 1, text.n, stdout);
    cz_text_fini(&text);
    return 0;
}
