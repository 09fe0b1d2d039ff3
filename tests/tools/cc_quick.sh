#!/bin/sh
# The C compiler, for tests of what generated C means rather than of how fast it
# is: -O1 takes a fraction of the time of -O3.  What is compared with it, one rank
# or a reference, is compiled likewise or not at all.
exec cc "$@" -O1
