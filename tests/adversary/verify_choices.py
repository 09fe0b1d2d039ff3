#!/usr/bin/python3
"""A number of either side of a choice, or of what it depends on, that is another
one is found, however seldom that side is taken: the verifier once accepted
`where(x > -1, x, -1)` for `where(x > 0, x, 0)`.

    verify_choices.py CANZONA
"""
import re
import subprocess
import sys

SOURCE = """mesh dp = 1, tp = 2
model choices {
    params f32 { w : [6/tp, 4] }
}
optimizer choosing(lr) for [m, n] {
    state mom : f32[m, n] = 0
    mom <- ema(mom, grad, 0.5)
    o = mom / (norm(mom) + 1e-7)
    far = where(norm(grad) > 100, 3, 0.25)
    param <- param - lr * far * (where(o * grad > 0, o, 0) + where(o < 7, o, 2))
}
use choosing(lr = 0.1) on **
"""
CONSTANT = re.compile(r"arith\.constant ([-+0-9.e]+) : f(?:32|64)$", re.M)


def run(canzona, text, *arguments):
    return subprocess.run([canzona, *arguments, "-"], input=text, text=True,
                          capture_output=True, check=False)


def main(canzona):
    text = run(canzona, SOURCE, "plan", "--ir").stdout
    if run(canzona, text, "verify").returncode:
        return "the plan itself is refused"
    found = [m for m in CONSTANT.finditer(text)
             if m.start() > text.index(".map")]
    print(f"{len(found)} constants of stages")
    for of in found:
        for by in (-1.0, 1.0):
            mutant = (text[:of.start(1)] + f"{float(of[1]) + by:.9e}" +
                      text[of.end(1):])
            answer = run(canzona, mutant, "verify")
            if answer.returncode == 0 or "[E0602]" not in answer.stderr:
                return f"{of[1]} {by:+} is accepted: {answer.stderr}"
    return 0 if len(found) >= 8 else "too few constants"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
