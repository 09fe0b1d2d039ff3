#!/usr/bin/python3
"""Plants bugs in what launches a plan's stages, one at a time: each must be noticed
by stages_run.c, and the sources as they are must pass.

stages_mutants.py CC CXX SOURCE_FOLDER FAKE_CUDA NVRTC LIBRARY... [--few]

The libraries are double_elements and all that it stands on."""
import pathlib
import subprocess
import sys
import tempfile

import plant

FLAGS = ("-std=c17", "-O1", "-w", "-D_POSIX_C_SOURCE=200809L", "-DPROGRAM=elements")
TESTS, ARGUMENTS = ("stages_run.c",), ("2",)
LAUNCH, STAGE = "products/stage_launch.c", "products/stage.c"

# name, file, what stands there, what the mutant has
MUTANTS = [
    ("chunks are shorter", LAUNCH, "CHUNK = 16 * THREADS", "CHUNK = 8 * THREADS"),
    ("strips are longer", LAUNCH, "STRIP_ROWS = 64", "STRIP_ROWS = 128"),
    ("kernels write in a step that is skipped", LAUNCH,
     "values[n_values] = s->call->skip;", "values[n_values] = NULL;"),
    ("entries write in a step that is skipped", LAUNCH,
     "values[n_values] = spaces->call->skip;", "values[n_values] = NULL;"),
    ("a launch has an entry too many", LAUNCH, "same < kernel->entries &&",
     "same <= kernel->entries &&"),
    ("an entry ends a block early", LAUNCH, "ends[to->n++] = to->n_blocks;",
     "ends[to->n++] = to->n_blocks - 1;"),
    ("entries are those of the first call", LAUNCH, "space_of(&calls[i], kernel, loop)",
     "space_of(&calls[0], kernel, loop)"),
    ("what entries share may lie elsewhere", LAUNCH,
     "            same = find(a, &loop->operands[argument]) ==\n"
     "                   find(b, &loop->operands[argument]);",
     "            same = true;"),
    ("a call of a launch is left out", LAUNCH, "put_loop(calls, n_put,",
     "put_loop(calls, n_put - (n_put > 1),"),
    ("what is not finite is another failure", LAUNCH,
     "int failure = CZR_ERR_PARAM, at = 1, n_values = 0;",
     "int failure = CZR_ERR_GRADIENT, at = 1, n_values = 0;"),
    ("ends of sums write in a step that is skipped", LAUNCH,
     "const void *skip = s->call->skip;", "const void *skip = NULL;"),
    ("a partial sum is left out", LAUNCH,
     "ends.of[i].length = sums_of_part(s->kernel, s->rows, s->columns);",
     "ends.of[i].length = sums_of_part(s->kernel, s->rows, s->columns) - 1;"),
    ("sums of one kernel share their room", LAUNCH,
     "return s->room + (size_t)number *", "return s->room + 0 * (size_t)number *"),
    ("the largest is a sum", LAUNCH, "return argument >= CZR_CUDA_LARGEST;",
     "return false;"),
    ("half of the room is asked for", LAUNCH,
     "czr_cuda_stages_need(stages, n * sizeof(double));",
     "czr_cuda_stages_need(stages, n * sizeof(double) / 2);"),
    ("extents are swapped", LAUNCH, "rows = s->rows, columns = s->columns;",
     "rows = s->columns, columns = s->rows;"),
    ("a loop is its first kernel", LAUNCH, "i < kernels.first + kernels.n &&",
     "i < kernels.first + 1 &&"),
    ("values lie where the workspace begins", LAUNCH,
     "czr_slot_bytes(call->work, offset)", "czr_slot_bytes(call->work, 0)"),
    ("a launch's failure is lost", LAUNCH,
     "return status == CZR_OK ? put_ends(spaces, n) : status;",
     "return put_ends(spaces, n);"),
    ("a kernel that is missing is no failure", STAGE,
     "        status = czr_module_find(&stages->module, program->kernels[i].name",
     "        czr_module_find(&stages->module, program->kernels[i].name"),
    ("code is not unloaded", STAGE, "    czr_module_close(&stages->module);", ""),
]
FEW = ("kernels write in a step that is skipped", "a partial sum is left out",
       "a kernel that is missing is no failure")


class Bench:
    """Compiles in a folder of its own."""

    def __init__(self, cc, cxx, source, fake_cuda, nvrtc, libraries, folder,
                 tests, arguments):
        self.cc, self.cxx, self.source, self.folder = cc, cxx, source, folder
        self.libraries = libraries
        self.flags = (*FLAGS, f"-I{source}", f"-I{source}/runtime",
                      f'-DFAKE_PATH="{fake_cuda}"', f'-DNVRTC_PATH="{nvrtc}"')
        self.arguments = arguments
        self.tests = [self.compile(plant.file_of_tests(source, test), test)
                      for test in tests]

    def compile(self, path, name):
        out = f"{self.folder}/{name.replace('/', '_')}.o"
        subprocess.run([self.cc, *self.flags, "-c", path, "-o", out], check=True)
        return out

    def runs(self, text):
        """Whether the test passes with this text before the libraries, and its
        first complaint."""
        path, program = f"{self.folder}/mutant.c", f"{self.folder}/program"
        pathlib.Path(path).write_text(text, encoding="utf-8")
        subprocess.run([self.cxx, *self.tests, self.compile(path, "mutant"),
                        *self.libraries, "-lcmocka", "-lnettle", "-ldl", "-lm",
                        "-lpthread", "-o", program], check=True)
        status, said = plant.run([program, *self.arguments], 120, ("ERROR", "order"))
        return status == 0, said

    def sound(self, file):
        path = pathlib.Path(f"{self.source}/runtime/cuda/{file}")
        return path.read_text(encoding="utf-8")

    def is_noticed(self, mutant):
        name, file, old, new = mutant
        passes, said = self.runs(plant.change(self.sound(file), name, old, new))
        return not passes, said


def plant_all(mutants, few, tests=TESTS, words=ARGUMENTS):
    """Whether all are noticed by a test of these files, with these arguments."""
    arguments = plant.arguments()
    plant.check_places(f"{arguments[2]}/runtime/cuda", mutants)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(*arguments[:5], arguments[5:], folder, tests, words)
        file = mutants[0][1]
        passes, said = bench.runs(bench.sound(file))
        if not passes:
            sys.exit(f"{file} as it is fails: {said}")
        return plant.all_noticed(mutants, few, bench.is_noticed)


if __name__ == "__main__":
    sys.exit(not plant_all(MUTANTS, FEW))
