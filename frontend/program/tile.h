/* Tiles: matrices of their own that a view cuts a matrix to, along rows and
 * columns alike. */
#ifndef CZ_FRONTEND_PROGRAM_TILE_H
#define CZ_FRONTEND_PROGRAM_TILE_H

#include "frontend/model/blocks.h"
#include "frontend/program/use.h"

/* The rows and columns of the tiles that each use asks for, into use->tile; 0
 * where it asks for none.  Uses whose number is no size, or whose optimizer is
 * not for matrices, are reported and marked broken. */
void cz_tiles_read(cz_uses *uses, cz_env *globals, cz_diags *diags);
/* How many tiles of this size the part's rows and columns are cut to, as the
 * optimizer sees them: 1, 1 of what is no larger, or is no matrix. */
void cz_tile_grid(const cz_family *family, cz_part part, int64_t tile,
                  int64_t grid[2]);
/* Whether each tile's rows are whole repetitions of a joined piece, or lie in
 * one of them: a piece's map (dsl/vocab/facts.def) says no other. */
bool cz_tile_is_mapped(const cz_family *family, cz_part part, int64_t tile);

#endif
