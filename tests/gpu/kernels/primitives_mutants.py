#!/usr/bin/python3
"""That golden vectors hold the model of the device: what the double recorded is
damaged, and then bugs are planted in the model, one at a time; each must be
noticed by the instruction that it is about.

primitives_mutants.py CXX SOURCE_FOLDER PROGRAM OBJECT_OR_LIBRARY... [--few]

PROGRAM is cuda_primitives, the rest what it is linked from but the model."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# file of tests/gpu/simt, what stands there, what the mutant has, who notices
MUTANTS = [
    ("sm90.hpp", "(address >> 7 & 7) << 4", "(address >> 7 & 3) << 4",
     "tma_read"),
    ("wgmma.hpp", "t % 32 / 4 + 8 * (i >> 1 & 1)", "t % 32 / 4 * 2 + (i >> 1 & 1)",
     "wgmma_64_k"),
    ("block.hpp", "(bits + 0x7fff + (bits >> 16 & 1)) >> 16",
     "(bits + 0x8000) >> 16", "rounding"),
    ("element.hpp", "std::nearbyint(std::ldexp(size, 10 - exponent))",
     "std::floor(std::ldexp(size, 10 - exponent))", "rounding_f16"),
    ("element.hpp", "size < 6.103515625e-5f ? -14", "size < 0.f ? -14",
     "rounding_f16"),
    ("block.hpp", "all[lane ^ to->mask]", "all[(lane + to->mask) % 32]", "shuffle"),
    ("block.hpp", "all[4 * col + row / 2]", "all[4 * row + col / 2]", "move_matrix"),
    ("sm80.hpp", "std::memset(simt::shared + to, 0, 16);", "", "copy_async"),
    ("sm80.hpp", "IS_TRANSPOSED ? 4 * col + row / 2 : 4 * row + col / 2",
     "4 * row + col / 2", "load_matrix"),
    ("sm80.hpp", "a[row + 8 * (i & 1)][k + h + 8 * (i >> 1)]",
     "a[row + 8 * (i >> 1)][k + h + 8 * (i & 1)]", "mma_sync"),
    ("sm80.hpp", "lane / 4 + 8 * (i >> 1)", "lane / 4 + 8 * (i & 1)", "mma_sync"),
    ("sm90.hpp", "IS_TRANSPOSED ? 4 * col + row / 2 : 4 * row + col / 2",
     "IS_TRANSPOSED ? 4 * row + col / 2 : 4 * col + row / 2", "store_matrix"),
    ("mbarrier.hpp", "while (b.parity == parity)", "while (b.parity != parity)",
     "deadlock"),
    ("sm90.hpp", "x < m.size[0] && y", "x <= m.size[0] && y", "tma_read"),
    ("sm90.hpp", "z < m.size[2]", "z <= m.size[2]", "tma_read"),
    ("sm90.hpp", "const u32 at = simt::swizzle(from + r * 128 + c * 2);",
     "const u32 at = from + r * 128 + c * 2;", "tma_write"),
    ("wgmma.hpp", "static_cast<u32>(row / 8) * group", "static_cast<u32>(row / 8) * 16",
     "wgmma_64_k"),
    ("wgmma.hpp", "static_cast<u32>(n / 64) * panel", "static_cast<u32>(n / 64) * group",
     "wgmma_128_n"),
    ("wgmma.hpp", "call.accumulate ? q.d[t][i] : 0.f", "q.d[t][i]", "wgmma_64_k"),
]


def run(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=100,
                          check=False)
    return done.returncode, done.stdout


def damaged(program, golden):
    """Sentences about damage that nobody sees."""
    victim = golden / "wgmma_64_n.words"
    whole = victim.read_bytes()
    cases = {"a byte less": whole[:-1], "a byte more": whole + b"\0",
             "another seed": whole.replace(b"seed 1", b"seed 2"),
             "no line": whole[whole.index(b"\n") + 1:],
             "one bit": whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:]}
    for what, text in cases.items():
        victim.write_bytes(text)
        status, said = run(program, "golden", golden, "--double")
        if status != 1 or "wgmma_64_n" not in said:
            yield f"{what}: {status}, {said}"
    victim.write_bytes(whole)
    if run(program, "golden", golden)[0] != 1:
        yield "the double's vectors are taken for a device's"


def build(cxx, source, folder, libraries):
    """The program with the model of `folder`."""
    program = folder / "mutant"
    tests = source / "tests/gpu"
    status, said = run(cxx, "-std=c++17", "-O1", "-w", "-ffp-contract=off",
                       f"-I{folder}", f"-I{source}", f"-I{tests}",
                       tests / "primitives/model.cpp", "-o", program, *libraries)
    if status:
        sys.exit(said)
    return program


def notices(cxx, source, folder, golden, mutant, libraries):
    """Whether the instruction that the bug is about differs."""
    file, old, new, who = mutant
    model = folder / "tests/gpu/simt"
    shutil.rmtree(model, ignore_errors=True)
    shutil.copytree(source / "tests/gpu/simt", model)
    text = (model / file).read_text(encoding="utf-8")
    if old not in text:
        sys.exit(f"{file} has no {old!r}")
    (model / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    status, said = run(build(cxx, source, folder, libraries), "golden", golden,
                       "--double")
    if status and who in said:
        return True
    print(f"FAILED: {file}: {new!r}: {status}\n{said}")
    return False


def main():
    is_few = "--few" in sys.argv
    cxx, source, program, *libraries = [a for a in sys.argv[1:] if a != "--few"]
    source = pathlib.Path(source)
    mutants = MUTANTS[:2] if is_few else MUTANTS
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        golden = folder / "golden"
        golden.mkdir()
        status, said = run(program, "double", "--record", golden, "--seeds", 1)
        if status or run(program, "golden", golden, "--double")[0]:
            sys.exit(f"the model as it is: {said}")
        messages = list(damaged(program, golden))
        print("".join(f"FAILED: {m}\n" for m in messages), end="")
        noticed = sum(notices(cxx, source, folder, golden, m, libraries)
                      for m in mutants)
    print(f"{noticed} of {len(mutants)} planted bugs noticed")
    return bool(messages) or noticed < len(mutants)


if __name__ == "__main__":
    sys.exit(main())
