#!/usr/bin/python3
"""The structures of canzona/czr.py are those of the headers: sizes and
offsets of all fields, as a C compiler has them.

    structures.py PACKAGE RUNTIME"""
import ctypes as ct
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

# Of czr.py: of the headers.
NAMES = {"Tensor": "czr_tensor", "Options": "czr_options", "Hyper": "czr_hyper",
         "HyperDesc": "czr_hyper_desc", "Result": "czr_result",
         "CheckpointTensor": "czr_checkpoint_tensor",
         "CheckpointBox": "czr_checkpoint_box", "Message": "czr_message",
         "Transport": "czr_transport"}


def load(path):
    """The module alone: the package wants torch."""
    spec = importlib.util.spec_from_file_location("czr", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(module):
    for name, type_name in NAMES.items():
        structure = getattr(module, name)
        yield f"sizeof({type_name})", ct.sizeof(structure)
        for field, _ in structure._fields_:
            yield f"offsetof({type_name}, {field})", getattr(structure, field).offset
    for name in ("OK", "ERR_TIMEOUT", "ERR_ENDED", "F64", "F32", "BF16", "WHY_BYTES",
                 "CHANNELS"):
        yield f"CZR_{name}", getattr(module, name)


def main(package, runtime):
    wanted = list(rows(load(package / "czr.py")))
    text = ('#include <stdio.h>\n#include "czr_checkpoint.h"\n#include "czr_transport.h"\nint main(void)\n{\n' +
            "".join(f'    printf("%lld\\n", (long long)({what}));\n' for what, _ in wanted) +
            "    return 0;\n}\n")
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "sizes.c"), pathlib.Path(folder, "sizes")
        source.write_text(text)
        subprocess.run([os.environ.get("CC", "cc"), f"-I{runtime}", "-o", program, source],
                       check=True)
        printed = subprocess.run([program], check=True, capture_output=True, text=True)
    wrong = [f"{what}: {number} here, {other} in the header"
             for (what, number), other in zip(wanted, map(int, printed.stdout.split()),
                                              strict=True) if number != other]
    print("\n".join(wrong) or f"{len(wanted)} numbers agree")
    return 1 if wrong or len(wanted) < 50 else 0


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:])))
