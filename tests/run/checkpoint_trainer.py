#!/usr/bin/python3
"""The trainer is interrupted, and goes on from its checkpoint on another mesh: it learns
as one that was not.

    checkpoint_trainer.py TRAINER FAIL_IO
"""
import csv
import pathlib
import subprocess
import sys
import tempfile

import fail_io

OPTIONS = ["--quiet", "--steps", "4", "--eval-every", "2", "--batch", "4", "--data",
           "/usr/share/common-licenses/GPL-3"]


def main():
    trainer, shim = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        def train(name, *options, **more):
            table = pathlib.Path(folder, name)
            done = subprocess.run([trainer, *OPTIONS, "--csv", table, *options],
                                  capture_output=True, text=True, check=False, cwd=folder,
                                  **more)
            with table.open(encoding="ascii", newline="") as file:
                return done, [(row["step"], float(row["validation"]))
                              for row in csv.DictReader(file)]

        _, wanted = train("whole", "--ranks", "2x2")
        # Renamed: four files and the manifest of the first save, then one more.
        done, rows = train("cut", "--ranks", "2x2", "--checkpoint", "kept",
                           env=fail_io.environment(shim, f"{folder}/log", "rename:6:28"))
        assert done.returncode and "kept/save2.rank" in done.stderr, done
        assert rows == wanted[:1], (rows, wanted)
        done, rows = train("rest", "--ranks", "1x1", "--checkpoint", "kept")
        assert done.returncode == 0 and len(rows) == 1, (done, rows)
        assert rows[0][0] == "4" and abs(rows[0][1] - wanted[1][1]) < 1e-3, (rows, wanted)
        done, rows = train("none", "--ranks", "1x1", "--optimizer", "adamw",
                           "--checkpoint", "kept")
        assert done.returncode and "in this plan" in done.stderr, done
        print(f"{wanted}; from a checkpoint {rows}")


if __name__ == "__main__":
    main()
