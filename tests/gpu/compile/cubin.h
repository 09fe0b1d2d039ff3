/* What a cubin's kernels are made of, read from its ELF: no disassembler. */
#ifndef CZ_TESTS_CUDA_CUBIN_H
#define CZ_TESTS_CUDA_CUBIN_H

#include <stdbool.h>
#include <stddef.h>

enum { CUBIN_MAX_SETMAXREG = 8 };

/* Opcodes are the low 12 bits of a 16-byte instruction, from sm_70 on. */
typedef struct cubin_kernel {
    /* Of the one kernel a file has; -1: it does not say. */
    int registers, frame_bytes;
    int n_instructions, n_of[1 << 12];
    int n_waits; /* for wgmma, WARPGROUP.DEPBAR: of n_of[CUBIN_WARPGROUP] */
    /* What each setmaxnreg asks for, as many as n_of[CUBIN_USETMAXREG] and no
     * more than there is room for: in the order of instructions. */
    int setmaxreg[CUBIN_MAX_SETMAXREG];
} cubin_kernel;

enum {
    CUBIN_HMMA = 0x23c,
    CUBIN_HGMMA = 0x9f0,
    CUBIN_LDSM = 0x83b,
    CUBIN_LDGSTS = 0xfae,
    CUBIN_STSM = 0x844,
    CUBIN_UTMALDG = 0x5b4,
    CUBIN_UTMASTG = 0x3b5,
    CUBIN_USETMAXREG = 0x9c8,
    CUBIN_WARPGROUP = 0x9c5, /* arrives before wgmma, or waits for them */
    CUBIN_LDL = 0x983,
    CUBIN_STL = 0x387
};

/* False: this is no cubin of one kernel, or it is cut off. */
bool cubin_read(const unsigned char *bytes, size_t n_bytes, cubin_kernel *out);
/* No spills: neither a frame nor local memory. */
bool cubin_has_no_spills(const cubin_kernel *k);
/* ptxas keeps tensor cores waiting where it does not see that accumulators are
 * theirs alone: it says so (C75xx, of which logs have CUBIN_SERIAL), and waits
 * behind each wgmma.  True: the log says so, or waits are more than half as
 * many as wgmma. */
#define CUBIN_SERIAL "(C75"
bool cubin_is_serial(const cubin_kernel *k, const char *log);

#endif
