"""Runs the trainer and reads what it wrote; shared by its quick and its long
test."""
import csv
import os
import subprocess
import tempfile
import time


class Run:
    """One training: rows of the CSV as floats, and seconds on the wall."""

    def __init__(self, program, **options):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "losses.csv")
            command = [program, "--quiet", "--csv", path]
            for name, value in options.items():
                command += ["--" + name.replace("_", "-"), str(value)]
            start = time.monotonic()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            self.seconds = time.monotonic() - start
            with open(path, encoding="ascii", newline="") as file:
                self.rows = [{name: float(value) for name, value in row.items()}
                             for row in csv.DictReader(file)]

    def validations(self):
        return [row["validation"] for row in self.rows]


def largest_difference(a, b):
    """Between two lists of equally many losses."""
    if len(a) != len(b):
        raise ValueError(f"{len(a)} evaluations against {len(b)}")
    return max(abs(x - y) for x, y in zip(a, b))
