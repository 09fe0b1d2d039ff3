/* The parts of a cubin that tests look at. */
#include "tests/gpu/compile/cubin.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

enum {
    MACHINE_CUDA = 190,
    INSTRUCTION_BYTES = 16,
    /* Where an instruction has its 32 bits of immediate operand. */
    IMMEDIATE_AT = 4,
    /* What tells WARPGROUP.DEPBAR from WARPGROUP.ARRIVE. */
    WAITS_AT = 5,
    WAITS_BIT = 0x80,
    /* .nv.info: format, attribute, 16 bits of size; format 4 has a value. */
    FORMAT_SIZED = 4,
    ATTRIBUTE_FRAME = 0x11,
    ATTRIBUTE_REGISTERS = 0x2f
};

typedef struct view {
    const unsigned char *bytes;
    size_t n_bytes;
} view;

static bool is_within(view v, uint64_t at, uint64_t size)
{
    return size <= v.n_bytes && at <= v.n_bytes - size;
}

static bool read_section(view file, const Elf64_Ehdr *head, int i,
                         Elf64_Shdr *out)
{
    const uint64_t at = head->e_shoff + (uint64_t)i * sizeof *out;

    if (head->e_shoff > file.n_bytes || !is_within(file, at, sizeof *out))
        return false;
    memcpy(out, file.bytes + at, sizeof *out);
    return out->sh_type == SHT_NOBITS ||
           is_within(file, out->sh_offset, out->sh_size);
}

/* The section's name begins with `start`. */
static bool has_name(view file, const Elf64_Shdr *names, const Elf64_Shdr *s,
                     const char *start)
{
    const size_t n = strlen(start);

    return s->sh_name <= names->sh_size && n <= names->sh_size - s->sh_name &&
           !memcmp(file.bytes + names->sh_offset + s->sh_name, start, n);
}

static void count(view text, cubin_kernel *out)
{
    for (size_t i = 0; i + INSTRUCTION_BYTES <= text.n_bytes;
         i += INSTRUCTION_BYTES) {
        const unsigned char *at = text.bytes + i;
        const int opcode = at[0] | (at[1] & 0xf) << 8;
        const int n = out->n_of[opcode]++;
        out->n_instructions++;
        out->n_waits +=
            opcode == CUBIN_WARPGROUP && (at[WAITS_AT] & WAITS_BIT) != 0;
        if (opcode == CUBIN_USETMAXREG && n < CUBIN_MAX_SETMAXREG)
            memcpy(&out->setmaxreg[n], at + IMMEDIATE_AT, sizeof(int32_t));
    }
}

static void read_info(view info, cubin_kernel *out)
{
    for (size_t i = 0; i + 4 <= info.n_bytes;) {
        const unsigned char *at = info.bytes + i;
        const size_t size =
            at[0] == FORMAT_SIZED ? (size_t)at[2] | (size_t)at[3] << 8 : 0;
        uint32_t value;
        if (size > info.n_bytes - i - 4)
            return;
        if (size == 8) {
            memcpy(&value, at + 8, sizeof value);
            if (at[1] == ATTRIBUTE_REGISTERS)
                out->registers = (int)value;
            if (at[1] == ATTRIBUTE_FRAME)
                out->frame_bytes = (int)value;
        }
        i += 4 + size;
    }
}

bool cubin_read(const unsigned char *bytes, size_t n_bytes, cubin_kernel *out)
{
    const view file = {bytes, n_bytes};
    Elf64_Ehdr head;
    Elf64_Shdr names, s;
    int n_texts = 0;

    memset(out, 0, sizeof *out);
    out->registers = out->frame_bytes = -1;
    if (n_bytes < sizeof head)
        return false;
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) ||
        head.e_machine != MACHINE_CUDA ||
        !read_section(file, &head, head.e_shstrndx, &names))
        return false;
    for (int i = 0; i < head.e_shnum; i++) {
        if (!read_section(file, &head, i, &s))
            return false;
        const view part = {bytes + s.sh_offset, s.sh_size};
        if (has_name(file, &names, &s, ".text.")) {
            count(part, out);
            n_texts++;
        }
        if (has_name(file, &names, &s, ".nv.info"))
            read_info(part, out);
    }
    return n_texts == 1;
}

bool cubin_has_no_spills(const cubin_kernel *k)
{
    return k->frame_bytes == 0 && !k->n_of[CUBIN_LDL] && !k->n_of[CUBIN_STL];
}

bool cubin_is_serial(const cubin_kernel *k, const char *log)
{
    return strstr(log, CUBIN_SERIAL) || 2 * k->n_waits > k->n_of[CUBIN_HGMMA];
}
