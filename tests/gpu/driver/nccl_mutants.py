#!/usr/bin/python3
"""Plants bugs in what drives NCCL, one at a time, and runs its tests on the
doubles: each must be noticed, and the sources as they are must pass.

nccl_mutants.py CC SOURCE_FOLDER [--few]"""
import sys

import mutants

mutants.RUNTIME += ("world/world.c", "world/threads_world.c", "world/threads_collective.c",
                    "world/threads_transfer.c", "world/threads_blame.c", "world/recorder.c")
mutants.DRIVEN += ("world/nccl.c", "world/nccl_world.c", "world/nccl_boxes.c", "world/nccl_member.c",
                   "world/nccl_sum.c", "world/nccl_exchange.c",
                   "world/nccl_unit.c", "world/nccl_watchdog.c", "world/process_env.c")
mutants.TESTS = ("nccl", "world_nccl", "world_nccl_fault", "process_env")

# name, test, file, what stands there, what the mutant has
mutants.MUTANTS = [
    ("old versions are taken", "nccl", "world/nccl.c",
     "nccl->version >= CZR_NCCL_VERSION", "nccl->version"),
    ("missing functions are taken", "nccl", "world/nccl.c",
     "return missing ? lacks(missing, message) : CZR_OK;", "return CZR_OK;"),
    ("NCCL's own words are left out", "nccl", "world/nccl.c",
     "more ? more : \"\");", "\"\");"),
    ("network cards get a traffic class", "nccl", "world/nccl.c",
     ".traffic_class = CZR_NCCL_DEFAULT", ".traffic_class = 0"),
    ("a parent that failed is closed as others", "nccl", "world/nccl.c",
     "parent->has_failed || status != CZR_OK", "false"),
    ("the child is taken before the parent has settled", "nccl", "world/nccl.c",
     "code == CZR_NCCL_SUCCESS ? CZR_NCCL_IN_PROGRESS : code", "code"),
    ("borrowed ones are any size", "nccl", "world/nccl.c",
     "its_size != size || its_rank != rank", "false"),
    ("borrowed ones are aborted", "nccl", "world/nccl.c",
     "comm->handle && !comm->is_borrowed", "comm->handle"),
    ("an id is taken that nobody made", "world_nccl", "world/nccl_world.c",
     "status != CZR_OK || sent.status == CZR_OK", "true"),
    ("a broadcast that failed is taken", "world_nccl", "world/nccl_world.c",
     "options->broadcast(options->user, &sent, sizeof sent, 0);",
     "0 * options->broadcast(options->user, &sent, sizeof sent, 0);"),
    ("the launcher's launcher counts", "process_env", "world/process_env.c",
     '!under->launcher || getenv("TORCHELASTIC_RUN_ID")', "!under->launcher"),
    ("variables of another rank are taken", "process_env", "world/process_env.c",
     "is_by_torchrun || is_same(torchrun, under)", "true"),
    ("two MPIs contradict each other", "process_env", "world/process_env.c",
     "!is_same(&of[OPEN_MPI], &of[MPICH])", "false"),
    ("half of a text is a number", "process_env", "world/process_env.c",
     "*end || value", "value"),
    ("local ranks of another world are taken", "process_env", "world/process_env.c",
     "of[i].launcher && is_same(&of[i], &chosen)", "of[i].launcher"),
    ("a batch script is a rank", "process_env", "world/process_env.c",
     "(!has_rank || from->may_lack_size)", "!has_rank"),
    ("calls follow before the last is over", "world_nccl",
     "world/nccl_exchange.c", "code == CZR_NCCL_IN_PROGRESS)\n        settle(work);",
     "false)\n        settle(work);"),
    ("a unit on another stream does not follow the last", "world_nccl",
     "world/nccl_unit.c", "member->last_stream != work->stream", "false"),
    ("leaves lie on each other", "world_nccl", "world/nccl_sum.c",
     "(size_t)leaf * (size_t)own.n * element", "0 * (size_t)leaf"),
    ("all send what the first chunk has", "world_nccl", "world/nccl_sum.c",
     "chunk, k);\n        const unsigned char *from =",
     "chunk, 0 * k);\n        const unsigned char *from ="),
    ("NCCL adds up where the plan is strict", "world_nccl",
     "world/nccl_sum.c", "return is_strict ? -1 : CZR_NCCL_FLOAT32;",
     "return CZR_NCCL_FLOAT32;"),
    ("NCCL reduces where the plan is strict", "world_nccl",
     "world/nccl_sum.c", "!world->options.is_strict && collective->dtype",
     "collective->dtype"),
    ("sums are not returned", "world_nccl", "world/nccl_sum.c",
     "        return_chunk(work, chunk, k);", ""),
    ("what is beside the diagonal is not packed", "world_nccl",
     "world/nccl_sum.c", "packed + (i ? runs[0].n * element : 0)", "packed"),
    ("boxes are not unpacked", "world_nccl", "world/nccl_boxes.c",
     "    pack(work, true);", ""),
    ("packed boxes lie on each other", "world_nccl", "world/nccl_boxes.c",
     "message->done += (size_t)czr_box_bytes(row);", ""),
    ("large packed boxes lie on each other", "world_nccl",
     "world/nccl_boxes.c", "    *at += room_of(", "    *at += 0 * room_of("),
    ("messages lie on each other", "world_nccl", "world/nccl_boxes.c",
     "        bytes +=\n"
     "            member->messages[i].only ? 0 :",
     "        bytes += 0 *"),
    ("a box that is not alone travels from its place", "world_nccl",
     "world/nccl_boxes.c", "message->bytes == 0 && is_flat(row)",
     "is_flat(row)"),
    ("the last box of a message is all", "world_nccl", "world/nccl_boxes.c",
     "message->bytes += (size_t)", "message->bytes = (size_t)"),
    ("rows lie one behind the other at their place", "world_nccl",
     "world/nccl_boxes.c", "(uint64_t)row->stride_bytes};",
     "(uint64_t)row->row_bytes};"),
    ("unequal parts are gathered as equal ones", "world_nccl",
     "world/nccl_sum.c",
     "ranges[i].n != ranges[0].n ||", "false &&"),
    ("options that differ are taken", "world_nccl", "world/nccl_world.c",
     "!memcmp(&descriptors[mine], &descriptors[other], sizeof *descriptors)",
     "true"),
    ("nobody looks at the time", "world_nccl_fault", "world/nccl_watchdog.c",
     "now - member->since_ms >= deadline_ms", "false"),
    ("nobody looks at the state", "world_nccl_fault", "world/nccl_watchdog.c",
     "state == CZR_NCCL_SUCCESS || state == CZR_NCCL_IN_PROGRESS", "true"),
    ("communicators are not aborted", "world_nccl_fault",
     "world/nccl_watchdog.c", "    if (world->failure != CZR_OK)\n"
     "        abort_all(world);", ""),
    ("the operation is another one", "world_nccl_fault",
     "world/nccl_watchdog.c", "(int)(*mark / 2) - 2", "(int)(*mark / 2) - 1"),
    ("units of no plan are put", "world_nccl_fault", "world/nccl_unit.c",
     "czr_nccl_mark_of(work->collective->op, true) >= world->n_marks", "false"),
    ("what failed is let be", "world_nccl_fault",
     "world/nccl_unit.c", "status == CZR_OK || status == CZR_ERR_STATE ||",
     "true ||"),
    ("staging is not given back", "world_nccl", "world/nccl_member.c",
     "    czr_context_free(world->context, member->staging);\n"
     "    czr_context_free(world->context, member->table);",
     "    czr_context_free(world->context, member->table);"),
]
mutants.FEW = ("old versions are taken", "sums are not returned",
               "boxes are not unpacked")

if __name__ == "__main__":
    sys.exit(mutants.main())
