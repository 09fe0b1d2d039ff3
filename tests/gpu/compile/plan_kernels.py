#!/usr/bin/python3
"""The kernels of one plan: its element-wise text and its products.

plan_kernels.py CANZONA SOURCE TEST NVRTC..."""
import pathlib
import subprocess
import sys
import tempfile

canzona, source, test, *nvrtc = sys.argv[1:]
with tempfile.TemporaryDirectory() as out:
    subprocess.run([canzona, "build", "--target=sm_90a", "-o", out, source],
                   check=True)
    (text,) = pathlib.Path(out).glob("*.cu")
    sys.exit(subprocess.run([test, text, *nvrtc],
                            check=False).returncode)
