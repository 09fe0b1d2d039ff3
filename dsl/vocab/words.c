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
#define ABI_DTYPE(tag, name, ...) #name,
#include "runtime/abi.def"
};
static const char *const slot_kind_words[] = {
#define ABI_SLOT(tag, name, index) #name,
#include "runtime/abi.def"
};
static const char *const exchange_words[] = {
#define ABI_EXCHANGE(tag, name) #name,
#include "runtime/abi.def"
};
static const char *const entry_kind_words[] = {
#define ABI_ENTRY(tag, name) #name,
#include "runtime/abi.def"
};
static const char *const section_words[] = {
#define ABI_SECTION(tag, name) #name,
#include "runtime/abi.def"
};
static const char *const step_kind_words[] = {
#define ABI_OP(tag, name, ...) #name,
#include "runtime/abi.def"
};

static const struct {
    const char *const *list;
    int n;
} vocabularies[CZ_N_VOCABULARIES] = {
#define CZ_WORDS(name, NAME)                                                   \
    {name##_words, (int)(sizeof name##_words / sizeof *name##_words)},
#include "dsl/vocab/words.def"
    {dtype_words, CZ_N_DTYPES},       {slot_kind_words, CZ_N_SLOTS},
    {exchange_words, CZ_N_EXCHANGES}, {entry_kind_words, CZ_N_ENTRY_KINDS},
    {section_words, CZ_N_SECTIONS},   {step_kind_words, CZ_N_STEPS},
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
