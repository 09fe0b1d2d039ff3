"""The same plan bytes from every build of the compiler: other compilers, other
optimisation levels.

Usage: plan_bytes.py CANZONA CANZONA...
"""
import hashlib
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ["examples/*.cz", "tests/fixtures/plans/*.cz", "tests/fixtures/plans/*/*.cz",
           "tests/fixtures/phases/*.cz", "tests/golden/explain/*.cz"]
OUTPUTS = [["plan"], ["plan", "--json"], ["plan", "--ir"],
           ["plan", "--ir=source"]]
JOBS = 2  # compilers at a time


def said(words):
    """What a command answers, refusals included."""
    done = subprocess.run(words, check=False, capture_output=True)
    return b"%d\n" % done.returncode + done.stdout + done.stderr


def answers(canzona, source):
    """Everything that the compiler writes, by what it is."""
    allowed = ["--allow-path=/"] if b"--allow-path" in said(
        [canzona, "plan", "--help"]) else []
    for output in OUTPUTS:
        yield " ".join(output), said([canzona, *output, *allowed, source])
    with tempfile.TemporaryDirectory() as folder:
        yield "build", said([canzona, "build", "-o", folder, *allowed,
                              source])
        for path in sorted(pathlib.Path(folder).iterdir()):
            yield f"build {path.name}", path.read_bytes()


def digests(canzona, source):
    return {what: hashlib.sha256(data).hexdigest()
            for what, data in answers(canzona, source)}


def differences(builds, source):
    """(outputs, what differs) of one source."""
    first, *others = [digests(canzona, source) for canzona in builds]
    wrong = [f"{source.name}, {what}: {canzona} differs from {builds[0]}"
             for canzona, other in zip(builds[1:], others)
             for what in first.keys() | other.keys()
             if first.get(what) != other.get(what)]
    return len(first), sorted(wrong)


def main(builds):
    sources = sorted(path for pattern in SOURCES for path in ROOT.glob(pattern))
    with ThreadPoolExecutor(JOBS) as pool:
        found = list(pool.map(lambda s: differences(builds, s), sources))
    wrong = [sentence for _, sentences in found for sentence in sentences]
    print("\n".join(wrong))
    print(f"{sum(n for n, _ in found)} outputs of {len(sources)} sources by "
          f"{len(builds)} builds {'DIFFER' if wrong else 'are equal'}")
    return 0 if len(builds) > 1 and sources and not wrong else 1


sys.exit(main(sys.argv[1:]))
