#!/usr/bin/python3
"""Ranks that are processes of MPI: plans of all kinds have the bytes of threads on
four processes; `canzona run --world=mpi` and the trainer do; a rank that stands still
is named by the others.

    mpi.py CANZONA TOOL RUNTIME TRAINER [TEST...]
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from processes import EXAMPLES, PLANS, build

CANZONA, TOOL, RUNTIME, TRAINER = sys.argv[1:5]
del sys.argv[1:5]

# Each on four ranks: gram, bands, equal parts, chunks, stages, factorisations,
# experts, all of a subgroup, owners and slices.
CASES = {
    "gpt": (EXAMPLES / "gpt.cz", "mesh.dp=2 mesh.tp=2"),
    "gram": (PLANS / "form_shared.cz",
             "mesh.dp=2 mesh.tp=2 form=gram tp_strategy=gram"),
    "bands": (PLANS / "few.cz", "mesh.dp=1 mesh.tp=4"),
    "equal": (PLANS / "fused.cz", "mesh.dp=4 mesh.tp=1 geometry=equal"),
    "chunks": (PLANS / "chunks.cz", "mesh.dp=2 mesh.fsdp=2"),
    "fsdp": (PLANS / "fsdp.cz", "mesh.dp=1 mesh.fsdp=2 mesh.tp=2"),
    "pipeline": (PLANS / "pipeline_chunks.cz",
                 "mesh.pp=2 mesh.dp=1 mesh.tp=2"),
    "factor": (PLANS / "factor.cz", "mesh.dp=2 mesh.tp=2"),
    "experts": (PLANS / "experts_paths.cz",
                "mesh.dp=2 mesh.tp=2 mesh.edp=1 mesh.ep=4 mesh.etp=1"),
    "groups": (PLANS / "groups.cz", "mesh.dp=2 mesh.tp=2"),
}
# What the command gives by itself.
LEAVE = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1",
             OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
             OMPI_MCA_rmaps_base_oversubscribe="1",
             PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")


def run(*command, env=None):
    done = subprocess.run([str(word) for word in command], capture_output=True,
                          text=True, check=False, timeout=200, env=env)
    return done.returncode, done.stdout, done.stdout + done.stderr


def mpirun(n, *command):
    return run("mpirun", "-n", n, *command, env=LEAVE)


SRUN = ("srun", "-n", "4", "--overcommit", "--mpi=pmix")


def has_slurm():
    """Whether this machine is of a cluster of Slurm's, which starts ranks by PMIx."""
    try:
        return subprocess.run([*SRUN, "true"], capture_output=True, check=False,
                              timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


class Bytes(unittest.TestCase):
    def test_plans_have_the_bytes_of_threads(self):
        for name, (source, defines) in CASES.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                program = build(CANZONA, RUNTIME, source, defines, folder)
                code, _, text = mpirun(4, TOOL, *program)
                self.assertEqual(code, 0, text)

    def test_the_command_has_the_bits_of_one_rank(self):
        for name in ("few", "chunks"):
            mesh = ("-Dmesh.dp=2", "-Dmesh.fsdp=2" if name == "chunks" else
                    "-Dmesh.tp=2")
            code, out, text = run(CANZONA, "run", "--world=mpi", "--check",
                                  "--steps=2", *mesh, PLANS / f"{name}.cz")
            self.assertEqual(code, 0, text)
            self.assertIn("bits      equal to one rank's", out)
            self.assertIn("counters  equal to the plan's", out)
            self.assertEqual(out.count("grad norm"), 1)

    def test_slurm_starts_ranks(self):
        if not has_slurm():
            self.skipTest("no Slurm that starts ranks by PMIx")
        with tempfile.TemporaryDirectory() as folder:
            program = build(CANZONA, RUNTIME, *CASES["gpt"], folder)
            code, _, text = run(*SRUN, TOOL, *program)
            self.assertEqual(code, 0, text)
        code, out, text = run(*SRUN, CANZONA, "run", "--world=mpi", "--check",
                              "-Dmesh.dp=2", "-Dmesh.tp=2", PLANS / "few.cz")
        self.assertEqual(code, 0, text)
        self.assertIn("bits      equal to one rank's", out)

    def test_the_trainer_learns_alike(self):
        with tempfile.TemporaryDirectory() as folder:
            options = ["--ranks", "2x2", "--steps", "4", "--eval-every", "2",
                       "--batch", "4", "--data",
                       "/usr/share/common-licenses/GPL-3", "--csv"]
            tables = [os.path.join(folder, name) for name in ("a", "b")]
            self.assertEqual(run(TRAINER, *options, tables[0])[0], 0)
            code, _, text = mpirun(4, TRAINER, "--world=mpi", *options,
                                   tables[1])
            self.assertEqual(code, 0, text)
            texts = [pathlib.Path(t).read_text(encoding="ascii") for t in tables]
            self.assertEqual(*texts)
            self.assertEqual(texts[0].count("\n"), 3)


class Failures(unittest.TestCase):
    def test_a_rank_that_stands_still_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            program = build(CANZONA, RUNTIME, *CASES["factor"], folder)
            code, out, text = mpirun(4, TOOL, *program, "stop")
            self.assertNotEqual(code, 0)
            self.assertEqual(out.count("for rank 1, which did not come"), 3,
                             text)
            self.assertIn("CZR_ERR_TIMEOUT: ", out)

    def test_a_failing_rule_ends_all_ranks(self):
        with tempfile.NamedTemporaryFile("w", suffix=".cz") as file:
            file.write("mesh dp = 2\nmodel m { params f32 { a : [8, 8] } }\n"
                       "optimizer o(lr) for [m, n] { param <- param - lr * grad }"
                       "\nuse o() as x on a\n"
                       "schedule { grads f32 partial over dp }\n")
            file.flush()
            code, _, text = run(CANZONA, "run", "--world=mpi", file.name)
            self.assertNotEqual(code, 0)
            self.assertIn("x.lr has no default and was not given", text)

    def test_other_numbers_of_processes_are_refused(self):
        code, _, text = mpirun(3, CANZONA, "run", "--world=mpi", "-Dmesh.dp=2",
                               PLANS / "few.cz")
        self.assertEqual(code, 1)
        self.assertEqual(
            text.count("3 processes were started, and the mesh has"), 1)
        code, _, text = mpirun(2, TRAINER, "--world=mpi", "--ranks", "2x2")
        self.assertEqual(code, 1)
        self.assertIn("2 processes for 4 ranks", text)

    def test_launchers_that_say_two_things_are_refused(self):
        for names, sentence in (
                ({"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1"},
                 "torchrun has started this process"),
                ({"OMPI_COMM_WORLD_RANK": "1"},
                 "OMPI_COMM_WORLD_RANK is set, and OMPI_COMM_WORLD_SIZE is not"),
                ({"PMI_RANK": "4", "PMI_SIZE": "4"}, "MPICH says rank 4 of 4")):
            code, _, text = run(CANZONA, "run", "--world=mpi", PLANS / "few.cz",
                                env=dict(os.environ, **names))
            self.assertEqual((code, text.count(sentence)), (1, 1), text)
        code, _, text = run("mpirun", "-n", 2, "env", "RANK=0", "WORLD_SIZE=8",
                            CANZONA, "run", "--world=mpi", PLANS / "few.cz", env=LEAVE)
        self.assertEqual(code, 1)
        self.assertRegex(text, "torchrun says rank 0 of 8; (Open MPI|MPICH) says rank")

    def test_a_launcher_of_another_mpi_is_named(self):
        """To the library each process is alone, whichever they are."""
        said = {"PMI_RANK": "MPICH", "OMPI_COMM_WORLD_RANK": "Open MPI"}
        for rank, size, local in (
                ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
                ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                 "OMPI_COMM_WORLD_LOCAL_RANK")):
            for number in ("0", "1"):
                code, _, text = run(
                    CANZONA, "run", "--world=mpi", "-Dmesh.dp=2", PLANS / "few.cz",
                    env={**os.environ, rank: number, size: "4", local: number})
                self.assertEqual(code, 1, text)
                self.assertEqual(text.count("error:"), int(number == "0"), text)
                self.assertTrue(number == "1" or f"{said[rank]} has started 4 processes, "
                                "of which this build's" in text, text)

    def test_what_cannot_be_started_is_one_sentence(self):
        code, _, text = run(CANZONA, "run", "--world=mpi", "-")
        self.assertEqual(code, 2)
        self.assertIn("cannot be standard input", text)
        code, _, text = run(CANZONA, "run", "--world=mpi", PLANS / "few.cz",
                            env=dict(os.environ, PATH="/nowhere"))
        self.assertEqual(code, 1)
        self.assertIn("mpirun cannot be started: No such file", text)


if __name__ == "__main__":
    unittest.main()
