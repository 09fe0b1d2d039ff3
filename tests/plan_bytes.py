"""The same plan bytes from every build of the compiler: other compilers, other
optimisation levels.

Usage: plan_bytes.py CANZONA CANZONA...
"""
import hashlib
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = ["gpt.cz", "gpt_adamw.cz", "qwen3-32b.cz"]
OUTPUTS = [["plan"], ["plan", "--json"], ["plan", "--ir"],
           ["plan", "--ir=source"]]


def digests(canzona):
    """SHA-256 of everything that the compiler writes, by what it is."""
    found = {}
    for example in EXAMPLES:
        source = ROOT / "examples" / example
        for output in OUTPUTS:
            done = subprocess.run([canzona, *output, source], check=True,
                                  capture_output=True)
            found[" ".join([*output, example])] = done.stdout
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([canzona, "build", "-o", folder, source], check=True)
            for path in sorted(pathlib.Path(folder).iterdir()):
                found[f"build {path.name}"] = path.read_bytes()
    return {what: hashlib.sha256(data).hexdigest()
            for what, data in found.items()}


def main():
    first, *others = sys.argv[1:]
    expected = digests(first)
    ok = len(others) > 0
    for canzona in others:
        for what, digest in digests(canzona).items():
            if digest != expected[what]:
                print(f"FAILED {what}: {canzona} differs from {first}")
                ok = False
    print(f"{len(expected)} outputs of {len(others) + 1} builds "
          f"{'are equal' if ok else 'DIFFER'}")
    return 0 if ok else 1


sys.exit(main())
