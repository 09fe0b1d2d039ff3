/* Accesses: what they have in common. */
#include "dsl/vocab/access.h"

static const struct {
    bool is_reduction, is_largest;
    cz_access reach;
} rows[CZ_N_ACCESSES] = {
    [CZ_ACCESS_ELEMENT] = {false, false, CZ_ACCESS_ELEMENT},
    [CZ_ACCESS_ROW] = {false, false, CZ_ACCESS_ROW},
    [CZ_ACCESS_COLUMN] = {false, false, CZ_ACCESS_COLUMN},
    [CZ_ACCESS_ALL] = {false, false, CZ_ACCESS_ALL},
    [CZ_ACCESS_SCALAR] = {false, false, CZ_ACCESS_SCALAR},
    [CZ_ACCESS_TRANSPOSED] = {false, false, CZ_ACCESS_TRANSPOSED},
    [CZ_SUM_ALL] = {true, false, CZ_ACCESS_ALL},
    [CZ_SUM_ROWS] = {true, false, CZ_ACCESS_ROW},
    [CZ_SUM_COLUMNS] = {true, false, CZ_ACCESS_COLUMN},
    [CZ_MAX_ALL] = {true, true, CZ_ACCESS_ALL},
    [CZ_MAX_ROWS] = {true, true, CZ_ACCESS_ROW},
    [CZ_MAX_COLUMNS] = {true, true, CZ_ACCESS_COLUMN},
};

bool cz_access_is_reduction(cz_access access)
{
    return rows[access].is_reduction;
}

bool cz_access_is_largest(cz_access access)
{
    return rows[access].is_largest;
}

cz_access cz_access_reach(cz_access access)
{
    return rows[access].reach;
}
