"""What `make install` puts: a trainer builds with pkg-config and with find_package,
pages say what commands do, and uninstalling leaves nothing.

    install.py BUILD          into a folder of its own
    install.py BUILD --deb    the Debian package in a clean root, for which this is
                              root and has debootstrap; else 77: skipped

The trainer is the installed lesson.c, which fails where it does not learn.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
UNINSTALL = ROOT / "cmake" / "uninstall.cmake"

PROJECT = """cmake_minimum_required(VERSION 3.20)
project(lesson C)
set(CMAKE_C_STANDARD 17)
find_package(canzona 0.1 REQUIRED)
foreach(library czr czr_static)
  add_executable(by_${library} lesson.c)
  canzona_plan(by_${library} lesson.cz)
  target_link_libraries(by_${library} PRIVATE canzona::${library})
endforeach()
"""

# In a clean root.  /var is dpkg's own, and the rest of what is left out the loader's.
CLEAN = """set -eu
export LC_ALL=C.UTF-8
list() {
    find / -xdev \\( -path /proc -o -path /tmp -o -path /var -o -path /etc/ld.so.cache \\
        -o -path /root \\) -prune -o -print | sort
}
list > /tmp/before
dpkg -i /tmp/canzona_*.deb
list > /tmp/between
cd /tmp
cp /usr/share/doc/canzona/lesson.c main.c
canzona build -o . /usr/share/doc/canzona/lesson.cz
gcc -Wall -Wextra -Werror $(canzona build --print-cflags) main.c lesson.c \\
    $(pkg-config --cflags --libs canzona) -o hello
./hello
canzona run --check --steps=2 -D matrices.lr=0.01 -D rest.lr=0.01 \\
    /usr/share/doc/canzona/lesson.cz
test -f /usr/share/canzona/editor/package.json
man canzona | grep -A1 '^EXIT STATUS'
man canzona-plan | grep -A1 '^SYNOPSIS'
dpkg -P canzona
list > /tmp/after
diff /tmp/before /tmp/after && echo "removed: $(diff /tmp/before /tmp/between | grep -c '^>') files and folders"
"""
SAYS = ("step 199", "equal to one rank's", "EXIT STATUS", "SYNOPSIS", "removed: ")
PACKAGES = ("gcc,libc6-dev,pkg-config,man-db,libjansson4,libnettle8,libstdc++6,"
            "libopenblas0-pthread")
SKIPPED = 77


def run(*words, folder=None, **more):
    done = subprocess.run([str(w) for w in words], cwd=folder, text=True,
                          capture_output=True, timeout=240, check=False,
                          env=os.environ | more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.returncode}\n"
                 f"{done.stdout}{done.stderr}")
    return done.stdout


def install(prefix):
    """The build's manifest is whoever installed before us."""
    manifest = BUILD / "install_manifest.txt"
    kept = manifest.read_bytes() if manifest.exists() else None
    run("cmake", "--install", BUILD, "--prefix", prefix, "--strip")
    ours = prefix.parent / "manifest.txt"
    shutil.move(manifest, ours)
    if kept is not None:
        manifest.write_bytes(kept)
    return ours


def check_names(prefix):
    """Nothing but czr_* can collide with a trainer's names."""
    for words in (["nm", "-D", "--defined-only", prefix / "lib/libczr.so"],
                  ["nm", "-g", "--defined-only", prefix / "lib/libczr.a"]):
        for line in run(*words).splitlines():
            part = line.split()
            if len(part) == 3 and not part[2].startswith("czr_"):
                yield f"{words[-1]} exports {part[2]}"


def trainer(prefix, folder):
    """The lesson, its plan, and the words that compile them."""
    doc = prefix / "share/doc/canzona"
    shutil.copytree(doc, folder)
    (folder / "lesson.c").rename(folder / "main.c")
    canzona = prefix / "bin/canzona"
    run(canzona, "build", "-o", ".", "lesson.cz", folder=folder)
    return ["gcc", "-Wall", "-Wextra", "-Werror",
            *run(canzona, "build", "--print-cflags").split(), "main.c", "lesson.c"]


def check_pkg_config(prefix, folder):
    compile_it = trainer(prefix, folder)
    paths = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "canzona", **paths).split()
    static = run("pkg-config", "--cflags", "--libs", "--static", "canzona", **paths)
    for name, words in (("shared", flags),
                        ("static", static.replace("-lczr", "-l:libczr.a").split())):
        run(*compile_it, *words, "-o", name, folder=folder)
        said = run(folder / name, LD_LIBRARY_PATH=str(prefix / "lib"))
        if "step 199" not in said:
            yield f"{name}: {said}"
    if "libczr" in run("readelf", "-d", folder / "static"):
        yield "the static trainer has a shared runtime"


def check_find_package(prefix, folder):
    shutil.copytree(prefix / "share/doc/canzona", folder)
    (folder / "CMakeLists.txt").write_text(PROJECT)
    run("cmake", "-S", folder, "-B", folder / "build", f"-Dcanzona_DIR="
        f"{prefix / 'lib/cmake/canzona'}")
    run("cmake", "--build", folder / "build")
    for name in ("by_czr", "by_czr_static"):
        if "step 199" not in run(folder / "build" / name):
            yield f"{name} does not train"


def missing(page, words):
    """Of these, what a page does not have."""
    plain = page.read_text().replace("\\-", "-")
    for word in sorted(set(words) - {"help", "usage"}):
        if word not in plain:
            yield f"{page.name} has no {word}"


def check_pages(prefix):
    """Every command and long option is on its manual page and in completions; there
    is a page for each command and no other."""
    canzona = prefix / "bin/canzona"
    pages = ("bash-completion/completions/canzona", "zsh/site-functions/_canzona",
             "fish/vendor_completions.d/canzona.fish")
    commands = re.findall(r"^  ([a-z]+)  ", run(canzona, "help"), re.M)
    wanted, man = set(commands), prefix / "share/man/man1"
    names = {f"canzona-{command}.1" for command in commands} | {"canzona.1"}
    if {page.name for page in man.iterdir()} != names or "plan" not in commands:
        yield f"manual pages: {sorted(page.name for page in man.iterdir())}"
        return
    yield from missing(man / "canzona.1", commands)
    for command in commands:
        of_command = set(re.findall(r"^ .*--([a-z][a-z-]*)", run(
            canzona, "help", command).split("\n\n  canzona")[0], re.M))
        wanted |= of_command
        yield from missing(man / f"canzona-{command}.1", of_command)
    for name in pages:
        yield from missing(prefix / "share" / name, wanted)
    for page in man.iterdir() if shutil.which("groff") else []:
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], timeout=60,
                              capture_output=True, check=False)
        plain = re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout.decode())
        heads = re.findall(r"^[A-Z][A-Z ]+$", plain, re.M)
        if done.stderr or heads[:2] != ["NAME", "SYNOPSIS"] or \
                "EXIT STATUS" not in heads or "Example" in plain:
            yield f"{page.name}: {heads} {done.stderr.decode()}"
    paths = f"{prefix / 'bin'}:{os.environ['PATH']}"
    said = run("bash", "-c", f"""source {prefix}/share/{pages[0]}
        for line in 'pl' 'plan --exp' 'doc muon_t' 'explain E0501' 'help fm'; do
            COMP_WORDS=(canzona $line); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            _canzona 2> /dev/null; echo "${{COMPREPLY[@]}}"
        done""", PATH=paths)
    if said.split("\n")[:5] != ["plan", "--explain", "muon_torch", "E0501", "fmt"]:
        yield f"bash completes {said}"
    for shell, page in (("zsh", pages[1]), ("fish", pages[2])):
        if shutil.which(shell):
            run(shell, "-n", prefix / "share" / page)
    if shutil.which("fish"):
        said = run("fish", "-c", f"source {prefix}/share/{pages[2]}; "
                   "complete -C 'canzona plan --exp'; complete -C 'canzona doc muon_t'",
                   PATH=paths)
        if not re.match(r"--explain\t.*\nmuon_torch\n$", said):
            yield f"fish completes {said}"


def check_editors(prefix):
    """All files for editors, and those that one looks for where it does."""
    ours = ROOT / "dsl/editor"
    for file in ours.iterdir():
        places = [prefix / "share/canzona/editor" / file.name]
        if file.suffix == ".vim":
            places += [prefix / "share" / at / "syntax" / file.name
                       for at in ("nvim/site", "vim/vimfiles")]
        if file.suffix == ".el":
            places.append(prefix / "share/emacs/site-lisp" / file.name)
        for place in places:
            if not place.is_file() or place.read_bytes() != file.read_bytes():
                yield f"{place.relative_to(prefix)} is not {file.name}"


def check_all(prefix, folder):
    for check in (check_names(prefix), check_pkg_config(prefix, folder / "by_pkg_config"),
                  check_find_package(prefix, folder / "by_cmake"), check_pages(prefix),
                  check_editors(prefix)):
        yield from check
    found = run(prefix / "bin/canzona", "--version", "--verbose")
    if (prefix / "lib/canzona").exists() and "MPI          none" in found:
        yield f"MPI is not found where it was installed: {found}"


def check_package(folder, prefix):
    """The Debian package has the files that are installed, and says who maintains it."""
    for who, said in (({}, "unset <unset@canzona.invalid>"),
                      ({"DEBFULLNAME": "Ada L.", "DEBEMAIL": "ada@example.org"},
                       "Ada L. <ada@example.org>")):
        names = {"DEBFULLNAME": "", "DEBEMAIL": "", **who}
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder / "debs",
            folder=BUILD, **names)
        debs = sorted((folder / "debs").glob("*.deb"))
        for deb in debs:
            found = run("dpkg-deb", "-f", deb, "Maintainer").strip()
            if found != said:
                yield f"{deb.name} is maintained by {found}, not {said}"
    listed = {line.split("./usr/", 1)[1].split(" -> ")[0] for deb in debs
              for line in run("dpkg-deb", "-c", deb).splitlines()
              if not line.startswith("d") and "./usr/" in line}
    ours = {str(p.relative_to(prefix)) for p in prefix.rglob("*") if not p.is_dir()}
    # Libraries are in a folder of the machine's, and pages may be compressed.
    flat = {re.sub(r"^lib/[a-z0-9_]+-linux-[a-z]+/", "lib/", name) for name in listed}
    if flat != ours:
        yield f"package and installation differ: {sorted(flat ^ ours)}"


def check_installed(folder):
    prefix = folder / "prefix"
    manifest = install(prefix)
    yield from check_all(prefix, folder)
    if shutil.which("dpkg-deb"):
        yield from check_package(folder, prefix)
    run("cmake", f"-DMANIFEST={manifest}", "-P", UNINSTALL)
    for path in sorted(prefix.rglob("*")):
        if not path.is_dir() or path.name == "canzona":
            yield f"uninstalling leaves {path.relative_to(prefix)}"


def check_deb(folder):
    run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder / "deb",
        folder=BUILD)
    root = folder / "root"
    done = subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}",
                           "bookworm", root], capture_output=True, text=True,
                          timeout=600, check=False)
    if done.returncode != 0:
        print(f"skipped: no clean root: {done.stdout[-300:]}")
        sys.exit(SKIPPED)
    for deb in (folder / "deb").glob("canzona_*.deb"):
        shutil.copy(deb, root / "tmp")
    (root / "tmp" / "clean.sh").write_text(CLEAN)
    said = run("chroot", root, "sh", "/tmp/clean.sh")
    print(said)
    for text in SAYS:
        if text not in said:
            yield f"in a clean root nothing says '{text}'"


def main():
    is_deb = "--deb" in sys.argv[2:]
    if is_deb and (os.geteuid() != 0 or not shutil.which("debootstrap")):
        print("skipped: a clean root is made by root, with debootstrap")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        check = check_deb if is_deb else check_installed
        found = list(check(pathlib.Path(name)))
    print("\n".join(found) or "install: built with, and removed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
