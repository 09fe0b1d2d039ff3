/* Arena: memory that lives exactly as long as one compilation.
 * Knows nothing of what is stored in it. */
#ifndef CZ_DSL_BASE_ARENA_H
#define CZ_DSL_BASE_ARENA_H

#include <stddef.h>

typedef struct cz_arena {
    struct cz_arena_block *head;
    size_t used_bytes; /* handed out so far */
    size_t next_bytes; /* capacity of the next block, at least */
} cz_arena;

/* Zero an arena.  No memory is taken before the first allocation. */
void cz_arena_init(cz_arena *arena);
/* Give everything back.  The arena may be used again afterwards. */
void cz_arena_fini(cz_arena *arena);

/* Give back what was handed out.  One that is used again and again soon has all
 * of a round in one block, which it keeps. */
void cz_arena_clear(cz_arena *arena);

/* Zeroed memory for `count` objects of `size` bytes, aligned to 16.  Never
 * NULL: the compiler stops with a message when the machine has no memory
 * (it runs in a process of its own, see docs/STATUS.md). */
void *cz_arena_alloc(cz_arena *arena, size_t count, size_t size);
/* A copy of `n` bytes, with a NUL behind them. */
char *cz_arena_copy(cz_arena *arena, const char *bytes, size_t n);
/* printf into the arena. */
char *cz_arena_printf(cz_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define CZ_NEW(arena, type, count)                                             \
    ((type *)cz_arena_alloc((arena), (size_t)(count), sizeof(type)))

/* Append one zeroed element to a counted array that lives in the arena and
 * return its place: `*CZ_PUSH(arena, list, n) = value;` where `list` is a
 * pointer and `n` the count beside it.  Capacity doubles, from 4; old memory
 * stays.  cz_arena_grow is called where a list is empty or full. */
void *cz_arena_grow(cz_arena *arena, void *list, size_t n, size_t size);
#define CZ_PUSH(arena, list, n)                                                \
    ((list) =                                                                  \
         (n) == 0 || ((n) >= 4 && ((n) & ((n)-1)) == 0)                        \
             ? cz_arena_grow((arena), (list), (size_t)(n), sizeof *(list))     \
             : (list),                                                         \
     &(list)[(n)++])

#endif
