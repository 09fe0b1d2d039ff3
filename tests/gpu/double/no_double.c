/* In place of the double of the driver, in programs for the machine's own GPUs.
 * Where the double is loaded, its functions have the names of the driver's and
 * of NCCL's and come before theirs: NCCL would call the double's
 * ncclCommGetAsyncError in place of its own. */
#include "tests/gpu/double/fake.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn static void refuse(const char *function)
{
    fprintf(stderr, "%s: this program has no double\n", function);
    abort();
}

#define NOT_HERE(result, name, arguments)                                      \
    result name arguments                                                      \
    {                                                                          \
        refuse(#name);                                                         \
    }
#define UNUSED __attribute__((unused))

NOT_HERE(void, fake_reset, (UNUSED uint64_t seed, UNUSED int eagerness))
NOT_HERE(void, fake_begin_turn, (void))
NOT_HERE(void, fake_end_turn, (void))
NOT_HERE(void, fake_set_devices, (UNUSED int n))
NOT_HERE(void, fake_set_memory, (UNUSED size_t bytes))
NOT_HERE(void, fake_be_lazy, (void))
NOT_HERE(void, fake_share_addresses, (void))
NOT_HERE(void *, fake_at, (UNUSED uint64_t address, UNUSED size_t bytes))
NOT_HERE(void, fake_register, (UNUSED const char *name, UNUSED fake_kernel run))
NOT_HERE(void, fake_register_sized,
         (UNUSED const char *name, UNUSED fake_kernel run,
          UNUSED int n_arguments, UNUSED const int *bytes))
NOT_HERE(void, fake_fail,
         (UNUSED const char *symbol, UNUSED int64_t nth, UNUSED int code))
NOT_HERE(int, fake_has_failed, (void))
NOT_HERE(unsigned, fake_launch_blocks, (void))
NOT_HERE(unsigned, fake_launch_threads, (void))
NOT_HERE(unsigned, fake_last_shared, (void))
NOT_HERE(int64_t, fake_handles, (void))
NOT_HERE(fake_live, fake_count, (void))
NOT_HERE(int64_t, fake_gone, (void))
