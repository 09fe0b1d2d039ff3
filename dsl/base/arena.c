/* Arena: a list of blocks, newest first. */
#include "dsl/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fuzzing sets 0: every piece is then an allocation of its own, and
 * AddressSanitizer sees where it ends. */
#ifndef CZ_ARENA_BLOCK_BYTES
#define CZ_ARENA_BLOCK_BYTES (1 << 16)
#endif

enum { ALIGNMENT = 16, BLOCK_BYTES = CZ_ARENA_BLOCK_BYTES };

struct cz_arena_block {
    struct cz_arena_block *next;
    size_t used, capacity;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

static void out_of_memory(void)
{
    fputs("canzona: error: out of memory\n", stderr);
    exit(1);
}

void cz_arena_init(cz_arena *arena)
{
    *arena = (cz_arena){0};
}

void cz_arena_fini(cz_arena *arena)
{
    struct cz_arena_block *block = arena->head;

    while (block) {
        struct cz_arena_block *next = block->next;
        free(block);
        block = next;
    }
    cz_arena_init(arena);
}

void cz_arena_clear(cz_arena *arena)
{
    struct cz_arena_block *block = arena->head;
    const size_t bytes = arena->used_bytes;

    if (block && !block->next && BLOCK_BYTES > 0) {
        memset(block->bytes, 0, block->used);
        block->used = 0;
        arena->used_bytes = 0;
        return;
    }
    cz_arena_fini(arena);
    arena->next_bytes = bytes + bytes / 4;
}

static struct cz_arena_block *block_with(cz_arena *arena, size_t bytes)
{
    struct cz_arena_block *block = arena->head;
    size_t capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;

    if (block && block->capacity - block->used >= bytes)
        return block;
    if (BLOCK_BYTES > 0 && capacity < arena->next_bytes)
        capacity = arena->next_bytes;
    /* zeroed here, once: pages that nobody touches are never taken */
    block = calloc(1, sizeof *block + capacity);
    if (!block)
        out_of_memory();
    block->next = arena->head;
    block->capacity = capacity;
    arena->head = block;
    arena->next_bytes = 0;
    return block;
}

void *cz_arena_alloc(cz_arena *arena, size_t count, size_t size)
{
    struct cz_arena_block *block;
    size_t bytes;
    void *memory;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        out_of_memory();
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    block = block_with(arena, bytes);
    memory = block->bytes + block->used;
    block->used += bytes;
    arena->used_bytes += bytes;
    return memory;
}

char *cz_arena_copy(cz_arena *arena, const char *bytes, size_t n)
{
    char *copy = cz_arena_alloc(arena, n + 1, 1);

    if (n)
        memcpy(copy, bytes, n);
    return copy;
}

char *cz_arena_printf(cz_arena *arena, const char *format, ...)
{
    va_list args;
    char *text;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text = cz_arena_alloc(arena, (size_t)n + 1, 1);
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void *cz_arena_grow(cz_arena *arena, void *list, size_t n, size_t size)
{
    void *bigger = cz_arena_alloc(arena, n == 0 ? 4 : 2 * n, size);

    if (n > 0)
        memcpy(bigger, list, n * size);
    return bigger;
}
