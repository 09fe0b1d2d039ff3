/* Words by which something is chosen, as enums: CZ_GEOMETRY_PADDED for
 * "padded".  Readers of text turn a word into its enum, writers turn the enum
 * into the word, and no other code sees the word. */
#ifndef CZ_DSL_VOCAB_WORDS_H
#define CZ_DSL_VOCAB_WORDS_H

#include "dsl/vocab/abi.h"
#include "dsl/vocab/dtype.h"

#include <stdbool.h>

#define CZ_WORDS(name, NAME)                                                   \
    typedef enum cz_##name                                                     \
    {
#define CZ_WORD(NAME, choice, word, what) CZ_##NAME##_##choice,
#define CZ_WORDS_END(name, NAMES)                                              \
    CZ_N_##NAMES                                                               \
    }                                                                          \
    cz_##name;
#include "dsl/vocab/words.def"

/* CZ_VOCABULARY_geometry and so on; the last are those of runtime/abi.def. */
typedef enum cz_vocabulary {
#define CZ_WORDS(name, NAME) CZ_VOCABULARY_##name,
#include "dsl/vocab/words.def"
    CZ_VOCABULARY_dtype,
    CZ_VOCABULARY_slot_kind, /* without its index */
    CZ_VOCABULARY_exchange,
    CZ_VOCABULARY_entry_kind,
    CZ_VOCABULARY_section,
    CZ_VOCABULARY_step_kind,
    CZ_N_VOCABULARIES
} cz_vocabulary;

/* The words of a vocabulary, in the order of its enum. */
const char *const *cz_words(cz_vocabulary vocabulary, int *n);
const char *cz_word_of(cz_vocabulary vocabulary, int choice);
/* False when the vocabulary lacks the word. */
bool cz_word_find(cz_vocabulary vocabulary, const char *word, int *choice);
/* A word that the language has, but no plan. */
bool cz_word_is_reserved(cz_vocabulary vocabulary, const char *word);

/* cz_geometry_word(CZ_GEOMETRY_PADDED) is "padded". */
#define CZ_WORD_OF(name)                                                       \
    static inline const char *cz_##name##_word(cz_##name choice)               \
    {                                                                          \
        return cz_word_of(CZ_VOCABULARY_##name, (int)choice);                  \
    }
#define CZ_WORDS(name, NAME) CZ_WORD_OF(name)
#include "dsl/vocab/words.def"
CZ_WORD_OF(slot_kind)
CZ_WORD_OF(exchange)
CZ_WORD_OF(entry_kind)
CZ_WORD_OF(section)
CZ_WORD_OF(step_kind)
#undef CZ_WORD_OF

#endif
