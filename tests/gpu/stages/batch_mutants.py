#!/usr/bin/python3
"""Plants bugs in what computes equal matrices as one, one at a time: each must be
noticed by batch_run.c, or by multiply_batch_test.c, and the sources as they are must
pass.

batch_mutants.py CC CXX SOURCE_FOLDER FAKE_CUDA NVRTC LIBRARY... [--few]

The libraries are double_batches and all that it stands on."""
import sys

from stages_mutants import plant_all

TESTS = ("batch_run.c", "loopback_rank.c", "product_bodies.c")
PRODUCT_TESTS = ("multiply_batch_test.c", "product_bodies.c")
STEPS, ROWS, TENSOR = ("products/stage_launch.c", "exec/op_batch.c",
                       "products/tensor.c")

# name, file, what stands there, what the mutant has
MUTANTS = [
    ("b is as far as a", STEPS, "distance(x->b, y->b)", "distance(x->a, y->a)"),
    ("results are as far as addends", STEPS, "distance(x->out, y->out)",
     "distance(x->addend, y->addend)"),
    ("the sums of all calls share their room", STEPS,
     "spaces[i].room = behind_sums(&spaces[i - 1]);", ""),
    ("steps of the first unit alone", STEPS, "put_step(&calls[i], n - i, &status)",
     "put_step(&calls[0], n - i, &status)"),
    ("slots of a unit are those of the one before", "exec/op.c",
     "**in = rank->call_in + matrix *",
     "**in = rank->call_in + (matrix - (matrix > 0)) *"),
    ("a unit that is alike is left out", STEPS, "(calls, &first, n_same, &apart,",
     "(calls, &first, n_same - 1, &apart,"),
    ("all units have the same workspace", ROWS, "unit * batch->bytes",
     "0 * batch->bytes"),
    ("workspace stays where the plan has it", ROWS,
     "    to.work = move(engine, batch, unit, row->work);\n", ""),
    ("what was gathered stays where the plan has it", ROWS,
     "    to.gather = move(engine, batch, unit, row->gather);\n", ""),
    ("memory for a unit less", ROWS, "batch->n_calls * batch->bytes;",
     "(batch->n_calls - 1) * batch->bytes;"),
    ("the last unit is left out", ROWS,
     "put(rank->calls, (size_t)batch->n_calls)",
     "put(rank->calls, (size_t)batch->n_calls - 1)"),
    ("a unit's first row alone", ROWS, "i < of->list[number - 1].n_rows &&",
     "i < 1 &&"),
    ("rows of a batch run alone, too", "exec/op.c", "    if (batch)\n",
     "    if (batch && of.list[batch - 1].first == row)\n"),
    ("a batch that is not full has tiles of a full one", TENSOR,
     "        some.tiles.n = tensor->tiles.n / batch * product->batch;\n", ""),
    ("nothing is prepared for batches", "products/stage.c",
     "batch = batch_of(program, stage);", "batch = 1;"),
]
PRODUCTS = [
    ("rows of a transposed operand are as long as its columns", TENSOR,
     "p->transpose_a ? p->m : p->k,", "p->k,"),
    ("addends are as far as results", TENSOR,
     "matrix_at(czr_address_of(p->addend), p->n, by->addend)",
     "matrix_at(czr_address_of(p->addend), p->n, by->out)"),
    ("sums of parts have no room", TENSOR, "plan.sums_bytes > most", "false"),
    ("halves of elements are left out", TENSOR,
     "(apart->a | apart->b | apart->addend | apart->out) % HALF_BYTES ==\n"
     "                0", "true"),
    ("what is prepared for fewer is taken", "products/multiply.c",
     "known->batch >= batch && (known", "(known"),
    ("matrices in turn are said to overlap", "products/host.c",
     "    if (batch < 2 ||", "    if (true ||"),
    ("matrices in turn may overlap", "products/host.c",
     "    return from >= matrix_bytes(first, batch) &&\n",
     "    return true ||\n"),
    ("matrices in turn may overlap behind the first", "products/host.c",
     "           by - from >= matrix_bytes(second, batch);", "           true;"),
]
FEW = ("b is as far as a", "all units have the same workspace",
       "the last unit is left out", "addends are as far as results")


if __name__ == "__main__":
    are_noticed = [plant_all(MUTANTS, FEW, TESTS, ("1", "0")),
                   plant_all(PRODUCTS, FEW, PRODUCT_TESTS, ())]
    sys.exit(not all(are_noticed))
