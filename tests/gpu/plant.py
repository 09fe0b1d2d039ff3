"""What scripts share that plant bugs, one at a time, and see whether each is
noticed.  With --few some are planted, those that a script calls few."""
import pathlib
import subprocess
import sys


def arguments():
    return [word for word in sys.argv[1:] if word != "--few"]


def file_of_tests(source, name):
    """Where a file of tests/gpu stands."""
    found, = pathlib.Path(source, "tests/gpu").rglob(name)
    return found


def change(text, name, old, new, is_once=True):
    """The text with what bug `name` changes in it."""
    if not old or not text.count(old) or (is_once and text.count(old) > 1):
        sys.exit(f"{name}: not there{' once' if is_once else ''}: {old}")
    return text.replace(old, new)


def change_file(path, out, name, old, new, is_once=True):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    pathlib.Path(out).write_text(change(text, name, old, new, is_once),
                                 encoding="utf-8")


def check_places(folder, mutants, is_once=True):
    """All of them have their places, before any takes time; each ends in a file, what
    stands there, and the mistake."""
    for name, *_, file, old, new in mutants:
        text = pathlib.Path(folder, file).read_text(encoding="utf-8")
        change(text, name, old, new, is_once)


def run(words, seconds, starts=("",), **options):
    """Exit status, and the first line said that has one of these in it; a
    program that does not end has failed."""
    try:
        done = subprocess.run(words, timeout=seconds, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              errors="replace", **options)
    except subprocess.TimeoutExpired:
        return 1, "it does not end"
    said = [line for line in done.stdout.split("\n")
            if any(start in line for start in starts)]
    return done.returncode, said[0].strip() if said else f"status {done.returncode}"


def all_noticed(mutants, few, is_noticed):
    """Whether is_noticed(MUTANT) says so of each that is wanted; it gives what
    was said, too."""
    wanted = [m for m in mutants if "--few" not in sys.argv or m[0] in few]
    n_noticed = 0
    for mutant in wanted:
        noticed, words = is_noticed(mutant)
        n_noticed += noticed
        print(f"{'noticed' if noticed else 'MISSED'}: {mutant[0]}: {words}", flush=True)
    print(f"{n_noticed} of {len(wanted)} planted bugs noticed")
    return 0 < len(wanted) == n_noticed
