/* Words by which something is chosen: the lists, read. */
#include "dsl/vocab/words.h"

#include <assert.h>
#include <string.h>

#define CZ_WORDS(name, NAME) static const char *const name##_words[] = {
#define CZ_WORD(NAME, choice, word, what) word,
#define CZ_WORDS_END(name, NAMES)                                              \
    }                                                                          \
    ;
#include "dsl/vocab/words.def"

static const char *const dtype_words[] = {
#define CZ_DTYPE(tag, name, bytes, c_type, czr_tag) name,
#include "dsl/vocab/dtype.def"
#undef CZ_DTYPE
};

static const struct {
    const char *const *list;
    int n;
} vocabularies[CZ_N_VOCABULARIES] = {
#define CZ_WORDS(name, NAME)                                                   \
    {name##_words, (int)(sizeof name##_words / sizeof *name##_words)},
#include "dsl/vocab/words.def"
    {dtype_words, CZ_N_DTYPES},
};

static const struct {
    cz_vocabulary of;
    const char *word;
} reserved[] = {
#define CZ_RESERVED(name, word) {CZ_VOCABULARY_##name, word},
#include "dsl/vocab/words.def"
};

const char *const *cz_words(cz_vocabulary vocabulary, int *n)
{
    *n = vocabularies[vocabulary].n;
    return vocabularies[vocabulary].list;
}

const char *cz_word_of(cz_vocabulary vocabulary, int choice)
{
    assert(choice >= 0 && choice < vocabularies[vocabulary].n);
    return vocabularies[vocabulary].list[choice];
}

bool cz_word_find(cz_vocabulary vocabulary, const char *word, int *choice)
{
    int n;
    const char *const *list = cz_words(vocabulary, &n);
    for (int i = 0; i < n; i++)
        if (strcmp(list[i], word) == 0) {
            *choice = i;
            return true;
        }
    return false;
}

bool cz_word_is_reserved(cz_vocabulary vocabulary, const char *word)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (reserved[i].of == vocabulary && strcmp(reserved[i].word, word) == 0)
            return true;
    return false;
}
