#!/usr/bin/python3
"""Plants bugs in the engine's part on a device, one at a time, and runs plans in
loop-back, or with a rank for each thread over the double of NCCL: each must be
noticed, and the sources as they are must pass.

loopback_mutants.py CANZONA CC SOURCE_FOLDER FAKE_CUDA CZR_CUDA CZR [--few]"""
import os
import subprocess
import sys
import tempfile

import plant

TESTS = ("host_plan.c", "loopback_rank.c", "nccl_rank.c",
         "loopback_host.c", "deferred.c", "host_collect.c", "host_judge.c",
         "host_stage.c")
FLAGS = ("-std=c17", "-O1", "-g", "-w", "-D_POSIX_C_SOURCE=200809L")
PLANS = {"loopback": "tests/fixtures/gpu/loopback",
         "turns": "tests/fixtures/gpu/turns", "parts": "tests/fixtures/plans/chunks",
         "bands": "tests/fixtures/plans/tiles_shared", "externs": "tests/fixtures/plans/externs",
         "failing": "tests/fixtures/gpu/failing",
         "buckets": "tests/fixtures/plans/pipeline_moe",
         "several": "tests/fixtures/gpu/buckets",
         "nccl_several": "tests/fixtures/gpu/buckets",
         "nccl": "tests/fixtures/gpu/loopback",
         "nccl_failing": "tests/fixtures/gpu/failing",
         "nccl_signs": "tests/fixtures/gpu/signs"}

# name, plan, file, what stands there, what the mutant has
MUTANTS = [
    ("members read before all have come", "loopback", "world/loopback_unit.c",
     "        status = meet(communicator);\n"
     "    for (int i = 0; i < communicator->size && status == CZR_OK; i++)\n"
     "        status = is_sum",
     "        ;\n"
     "    for (int i = 0; i < communicator->size && status == CZR_OK; i++)\n"
     "        status = is_sum"),
    ("boxes travel before they are filled", "loopback", "world/loopback_unit.c",
     "    if (status == CZR_OK)\n"
     "        status = meet(communicator);\n"
     "    for (int i = 0; i < communicator->size && status == CZR_OK; i++)\n"
     "        if (communicator->posted[i])",
     "    for (int i = 0; i < communicator->size && status == CZR_OK; i++)\n"
     "        if (communicator->posted[i])"),
    ("boxes are filled anew while they travel", "loopback", "world/loopback_unit.c",
     "        status = czr_boxes_put(&boxes);\n"
     "    return status == CZR_OK ? meet(communicator) : status;",
     "        status = czr_boxes_put(&boxes);\n"
     "    return status;"),
    ("boxes of many runs stay where they are", "loopback", "world/loopback_unit.c",
     "        status = czr_boxes_put(&boxes);\n", "        ;\n"),
    ("boxes of many runs travel on a stream of their own", "loopback",
     "world/loopback_unit.c", ".stream =\n"
     "                           stream_of(communicator, first_of(communicator))",
     ".stream = NULL"),
    ("sums begin before all have come", "loopback", "world/loopback_unit.c",
     "    czr_status status = gather_streams(communicator);\n"
     "\n"
     "    if (status == CZR_OK)\n"
     "        status = collective->kind",
     "    czr_status status = CZR_OK;\n"
     "\n"
     "    if (status == CZR_OK)\n"
     "        status = collective->kind"),
    ("nobody waits for sums", "loopback", "world/loopback_unit.c",
     ": put_sums(communicator, collective);\n"
     "    return status == CZR_OK ? release_streams(communicator) : status;",
     "                                                    : put_sums(communicator, collective);\n"
     "    return status;"),
    ("a sender's first row is sent again", "loopback", "world/loopback_unit.c",
     "&communicator->cursors[to->peer],", "&(int64_t){0},"),
    ("a table of pointers is another unit's", "bands", "world/loopback_world.c",
     "           memcmp(communicator->lanes[lane].sent, pointers,\n"
     "                  (size_t)communicator->size * sizeof *pointers) == 0;",
     "           true;"),
    ("skipped steps write", "loopback", "exec/op.c",
     "        .skip = &rank->decision->skip,",
     "        .skip = &rank->decision->beyond + 8,"),
    ("names of parameters are those of the first", "loopback", "exec/op.c",
     "        .count = (size_t)row->count,", "        .count = 1,"),
    ("phases are not looked at", "turns", "exec/op.c",
     "variants[rank->engine->phases[row->param]]", "variants[0]"),
    ("the guard does not look", "turns", "exec/op.c",
     "        status = czr_collect_guard(collect, &rank->guarded, rank->decision,\n"
     "                                   engine->stream);",
     "        ;"),
    ("ranks do not agree on gradients", "turns", "exec/op.c",
     "        sum_counts(rank, CZR_COLLECT_BEYOND, 1, segment);", "        ;"),
    ("nothing is decided without a norm", "turns", "exec/op.c",
     "        if (!rank->has_decision)\n            status", "        if (false)\n"
     "            status"),
    ("what is undone is not put back", "loopback", "exec/fault.c",
     "        status = put_all_back(rank);", "        ;"),
    ("what is sound is put back", "loopback", "exec/fault.c",
     "&rank->decision->sound, engine->stream);", "NULL, engine->stream);"),
    ("ranks do not tell each other of rules", "failing", "exec/fault.c",
     "        gather(rank, segment);", "        ;"),
    ("another row is named", "failing", "exec/fault.c",
     "rows[range.first + left]", "rows[range.first]"),
    ("rows fail for the first of theirs", "failing", "exec/op.c",
     "rank->first_marks[op] + number", "rank->first_marks[op]"),
    ("rows of another operation fail", "failing", "exec/fault.c",
     "        n += rows_of(program, op, engine->rank).n;", "        n += 0;"),
    ("what is undone is said again", "loopback", "exec/outcome.c",
     "    rank->undone = of->undone;\n", ""),
    ("what is undone is not said", "loopback", "exec/outcome.c",
     "    if (of->undone == rank->undone)", "    if (true)"),
    ("a refused gradient is not said where a later decision comes first",
     "failing", "exec/outcome.c", "    if (of->refused == rank->refused)\n",
     "    if (of->refused == rank->refused || of->reason == 0)\n"),
    ("a refused gradient is not said behind what is undone", "nccl_failing",
     "exec/outcome.c", "|| rank->has_more;", ";"),
    ("a refused gradient is said again", "failing", "exec/outcome.c",
     "    rank->refused = of->refused;\n", ""),
    ("an update that was set is not made", "loopback", "exec/outcome.c",
     "    engine->device->ops->copy(engine->device, &rank->decision->steps, &steps,\n"
     "                              sizeof steps);\n", ""),
    ("an update before is taken for this one", "loopback", "exec/rank_group.c",
     "program_of(rank_group)->phases || results", "program_of(rank_group)->phases"),
    ("another rank's rule is said as this one's", "failing", "exec/outcome.c",
     "(program, number, rank->result->mark)",
     "(program, rank->engine->rank, rank->result->mark)"),
    ("ranks over NCCL do not sum faults", "nccl", "exec/op.c",
     "= {.data = rank->rank_words.words,", "= {.data = rank->decision,"),
    ("what a fault leaves behind is said instead", "nccl",
     "exec/outcome.c",
     "return czr_collect_has_fault(rank->result);",
     "return false;"),
    ("run-time values stay", "loopback", "exec/rank_group.c",
     "(size_t)engine->program->n_hypers, rank->main),", "0, rank->main),"),
    ("a step's words stay", "loopback", "exec/rank_group_list.c",
     "czr_collect_begin(rank->device.collect, rank->decision, rank->main)",
     "CZR_OK"),
    ("a step's words are cleared behind reductions", "turns", "exec/rank_group_list.c",
     "rank_group->is_open ? CZR_OK : begin_all(rank_group)", "begin_all(rank_group)"),
    ("a trainer's stream is not waited for", "loopback", "exec/rank_group_list.c",
     "        status = czr_context_wait(context, rank->main, rank->event);",
     "        status = CZR_OK;"),
    ("reductions do not wait for the producer", "loopback", "exec/rank_group_list.c",
     "    if (status == CZR_OK)\n"
     "        status = czr_cuda_list_follow(rank, producer);", ""),
    ("what is left does not wait for main streams", "parts", "exec/rank_group_list.c",
     "    czr_status status = fork_all(rank_group);\n"
     "\n"
     "    if (status == CZR_OK)\n"
     "        status = run_list(rank_group);",
     "    czr_status status = rank_group->next_op ? CZR_OK : fork_all(rank_group);\n"
     "\n"
     "    if (status == CZR_OK)\n"
     "        status = run_list(rank_group);"),
    ("threads of hooks do not have the device", "loopback", "exec/rank_group_list.c",
     "czr_status status = czr_cuda_rank_enter(rank);", "czr_status status = CZR_OK;"),
    ("one rank's gradients are enough", "loopback", "exec/rank_group_list.c",
     "    for (int i = 0; i < rank_group->n; i++)\n"
     "        if (!czr_step_is_ready",
     "    for (int i = 0; i < 1; i++)\n"
     "        if (!czr_step_is_ready"),
    ("reductions wait for their step", "loopback", "exec/rank_group_list.c",
     "is_ready(rank_group, rank_group->next_op)", "false"),
    ("reductions are made again", "loopback", "exec/rank_group_list.c",
     "int op = rank_group->next_op;", "int op = 0;"),
    ("the trainer's stream does not wait", "loopback", "exec/rank_group.c",
     "        status = czr_context_wait(context, stream, rank->ended);",
     "        status = CZR_OK;"),
    ("what is given comes before a step has ended", "externs", "exec/rank_group.c",
     "        status = czr_device_cuda_follow(rank->engine->device, "
     "rank->ended);", "        status = CZR_OK;"),
    ("tensors are not copied out", "loopback", "exec/rank_group.c",
     "        czr_loose_copy_out(engine, param);", "        ;"),
    ("phases follow the step before the last", "turns", "exec/rank_group.c",
     "program_of(rank_group)->phases || results", "results"),
    ("a graph of other phases is launched", "turns", "exec/captured.c",
     "memcmp(rank_group->captured[i].phases, phases, n) == 0", "true"),
    ("captured decisions count", "loopback", "exec/captured.c",
     "        rank_group->members[i].rank->sequence -= captured->decisions;",
     "        ;"),
    ("launched operations do not count", "loopback", "exec/captured.c",
     "    move_counts(rank_group, captured->counts, true, 1);", ""),
    ("a graph does not wait for the ranks' streams", "loopback", "exec/captured.c",
     "        status = meet(rank_group, true);\n"
     "    czr_profile_begin(", "        ;\n"
     "    czr_profile_begin("),
    ("units of two communicators are in no order", "nccl_several",
     "world/nccl_unit.c", "return world->options.nccl->is_ordered;", "return true;"),
    ("a bucket's graph is the first one's", "buckets", "exec/captured.c",
     "&rank_group->reductions[op], put)", "&rank_group->reductions[0], put)"),
    ("what was captured is waited for", "nccl_signs", "exec/captured.c",
     "    czr_status status = begin_units(rank_group);\n"
     "\n"
     "    if (status == CZR_OK)\n"
     "        status = meet", "    czr_status status = CZR_OK;\n"
     "\n"
     "    if (status == CZR_OK)\n"
     "        status = meet"),
    ("a rank captures what others do not", "nccl", "exec/captured.c",
     "    if (rank_group->n < size)\n", "    n = n ? size : 0;\n"
     "    if (false)\n"),
    ("nobody asks whether others capture", "nccl", "world/process.c",
     "n != (is_captured ? engine->world->size : 0)", "false"),
    ("graphs are closed behind communicators", "nccl", "world/process.c",
     "    czr_cuda_captured_close(&process->rank_group);\n"
     "    czr_cuda_rank_close(process->member.rank);\n"
     "    czr_world_nccl_close(process->world);\n",
     "    czr_cuda_rank_close(process->member.rank);\n"
     "    czr_world_nccl_close(process->world);\n"
     "    czr_cuda_captured_close(&process->rank_group);\n"),
    ("the ranks' streams do not wait for a graph", "loopback", "exec/captured.c",
     "    if (status == CZR_OK)\n"
     "        status = meet(rank_group, false);\n"
     "    move_counts", "    move_counts"),
    ("who reads parameters that may be undone does not wait", "loopback",
     "exec/device.c",
     "? czr_context_wait(device->context, stream, device->ended)", "? CZR_OK"),
    ("who reads a bucket does not wait", "several", "exec/param_ready.c",
     "            status = czr_context_wait(context, stream,\n"
     "                                      rank->param_ready.events[lasts[i]]);",
     "            status = CZR_OK;"),
    ("who reads a bucket waits for all of them", "several", "exec/param_ready.c",
     "|| !has_last", "|| true"),
    ("who reads a bucket waits for it alone where it may be undone",
     "nccl_several",
     "exec/param_ready.c", "engine->undoes ||", ""),
    ("who reads a bucket waits for another", "several", "exec/param_ready.c",
     "engine->program->places[param].bucket);", "0);"),
    ("a bucket is there before it is gathered", "several", "exec/param_ready.c",
     "program->ops[op].kind == CZR_ALL_GATHER", "false"),
    ("graphs keep to themselves when a bucket is there", "several", "driver/context.c",
     "if (!context->is_capturing)", "if (true)"),
    ("who reads a bucket over NCCL does not wait", "nccl_several", "exec/param_ready.c",
     "            status = czr_context_wait(context, stream,\n"
     "                                      rank->param_ready.events[lasts[i]]);",
     "            status = CZR_OK;"),
    ("who reads a bucket over NCCL waits for all of them", "nccl_several",
     "exec/param_ready.c", "|| !has_last", "|| true"),
    ("a band is not mirrored", "bands", "exec/device.c",
     "czr_collect_band_mirror(device->collect, matrix, element_bytes,\n"
     "                                       *band, stream_of(device)));",
     "CZR_OK);"),
    ("masters are zeros", "loopback", "exec/device.c",
     "               czr_collect_convert(",
     "               true ? CZR_OK : czr_collect_convert("),
]
FEW = ("reductions do not wait for the producer",
       "who reads a bucket does not wait",
       "boxes are filled anew while they travel",
       "ranks do not agree on gradients", "skipped steps write")


class Bench:
    """Compiles in a folder of its own."""

    def __init__(self, canzona, cc, source, libraries, folder):
        self.canzona, self.cc, self.source = canzona, cc, source
        self.libraries, self.folder, self.plans = libraries, folder, {}
        self.objects = [self.of_test(name) for name in TESTS]
        self.worlds = {name: self.of_test(f"{name}_plan.c")
                       for name in ("loopback", "nccl")}

    def of_test(self, name):
        return self.compile(plant.file_of_tests(self.source, name), name)

    def compile(self, path, name):
        out = f"{self.folder}/{name.replace('/', '_')}.o"
        self.run(self.cc, *FLAGS, f"-I{self.source}",
                 f"-I{self.source}/runtime",
                 f'-DFAKE_PATH="{self.libraries[0]}"', "-c", path, "-o", out)
        return out

    def run(self, *words):
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    def plan(self, name):
        """The plan compiled, and the name of its program."""
        if name not in self.plans:
            path = PLANS[name]
            stem = os.path.basename(path)
            self.run(self.canzona, "build", "-o", self.folder,
                     f"{self.source}/{path}.cz",
                     *(["--strict"] if "nccl" in name else []))
            self.run(self.cc, "-std=c17", "-O1", "-w", "-shared", "-fPIC",
                     f"-I{self.source}/runtime", f"{self.folder}/{stem}.c",
                     "-o", f"{self.folder}/{name}.so", "-lm")
            self.plans[name] = (f"{self.folder}/{name}.so", f"{stem}_program")
        return self.plans[name]

    def status_of(self, plan, mutant):
        """Of the plan with one object put before the libraries, and its first
        complaint."""
        program = f"{self.folder}/mutant"
        fake = self.libraries[0]
        world = "nccl" if "nccl" in plan else "loopback"
        orders = "3" if world == "nccl" else "12"
        self.run(self.cc, self.worlds[world], *self.objects, *mutant, *self.libraries[1:], fake,
                 f"-Wl,-rpath,{os.path.dirname(fake)}", "-rdynamic", "-lcmocka",
                 "-ldl", "-lm", "-pthread", "-o", program)
        return plant.run([program, *self.plan(plan), orders, "0", "0"], 100)

    def is_noticed(self, mutant):
        name, plan, file, old, new = mutant
        path = f"{self.folder}/mutant_{os.path.basename(file)}"
        plant.change_file(f"{self.source}/runtime/cuda/{file}", path, name, old, new)
        changed = self.compile(path, f"mutant_{os.path.basename(file)}")
        status, said = self.status_of(plan, [changed])
        return status != 0, said


def main():
    words = plant.arguments()
    plant.check_places(f"{words[2]}/runtime/cuda", MUTANTS)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(*words[:3], words[3:], folder)
        few = "--few" in sys.argv
        for plan in sorted({m[1] for m in MUTANTS if not few or m[0] in FEW}):
            status, said = bench.status_of(plan, [])
            if status:
                sys.exit(f"{plan}: the sources as they are fail: {said}")
        return not plant.all_noticed(MUTANTS, FEW, bench.is_noticed)


if __name__ == "__main__":
    sys.exit(main())
