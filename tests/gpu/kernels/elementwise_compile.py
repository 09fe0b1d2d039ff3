#!/usr/bin/python3
"""The kernels of every optimizer of the library, by NVRTC.

elementwise_compile.py CANZONA TEST NVRTC OTHER"""
import pathlib
import subprocess
import sys
import tempfile

import elementwise

CANZONA, *COMMAND = sys.argv[1:]
status = 0
for options, source, mesh in elementwise.PROGRAMS:
    if mesh:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            source = folder / "library.cz"
            source.write_text(elementwise.every_optimizer(*mesh), encoding="utf-8")
            stem, _ = elementwise.build(CANZONA, options, source, folder)
            status = status or subprocess.run(
                [*COMMAND, folder / f"{stem}.cu"], check=False).returncode
sys.exit(status)
