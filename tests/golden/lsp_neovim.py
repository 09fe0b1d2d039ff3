#!/usr/bin/python3
"""A real editor: Neovim without a screen, set up by the lines of
dsl/editor/README.md, gets messages, a hover, a definition and the layout.

    lsp_neovim.py CANZONA; 77, skipped, where there is no nvim
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
TEXT = """mesh dp = 2, tp = 2
model my(d = 64, layers = 2) {
    params bf16 {
        layers[i < layers] {
            up.weight : [4*d/tp, d]
            norm      : [d]
        }
    }
}
use moun(lr, momentum = 0.95) as matrices on layers.*.up.weight
use adamw( lr ) as rest on **
"""

# What a user does, by the editor's own functions.  It has half a minute.
SESSION = """
local out = {}

local function wait(what, found)
  if not vim.wait(30000, found, 20) then
    error("no " .. what)
  end
end

local function at(line, text)
  local column = vim.fn.getline(line):find(text, 1, true)
  vim.api.nvim_win_set_cursor(0, { line, column - 1 })
end

local function session()
  local buffer = vim.api.nvim_get_current_buf()
  out.commentstring = vim.bo.commentstring
  out.colours = vim.b.current_syntax
  wait("messages", function() return #vim.diagnostic.get(buffer) > 0 end)
  out.messages = vim.diagnostic.get(buffer)
  vim.fn.setline(10, (vim.fn.getline(10):gsub("moun", "muon")))
  wait("end of messages", function() return #vim.diagnostic.get(buffer) == 0 end)

  at(10, "layers.*")
  vim.lsp.buf.hover()
  local float
  wait("hover", function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(window).relative ~= "" then
        float = window
      end
    end
    return float
  end)
  out.hover = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(float), 0, -1, false)
  vim.api.nvim_win_close(float, true)

  at(4, "layers]")
  vim.lsp.buf.definition()
  wait("definition", function() return vim.api.nvim_win_get_cursor(0)[1] ~= 4 end)
  out.definition = vim.api.nvim_win_get_cursor(0)

  if vim.lsp.buf.format then
    vim.lsp.buf.format({ timeout_ms = 30000 })
  else
    vim.lsp.buf.formatting_sync(nil, 30000)
  end
  out.layout = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  at(10, "muon")
  vim.lsp.buf.definition()
  wait("library", function() return vim.api.nvim_get_current_buf() ~= buffer end)
  out.muon = vim.fn.getline(".")
end

local ok, why = pcall(session)
out.why = not ok and why or nil
vim.fn.writefile({ vim.fn.json_encode(out) }, vim.env.RESULT)
vim.cmd("qall!")
"""


def settings():
    """The lines of the page."""
    page = (ROOT / "dsl/editor/README.md").read_text(encoding="utf-8")
    section = page.split("\n## Neovim\n")[1].split("\n## ")[0]
    return "\n".join(re.findall(r"^    (.*)$", section, re.M)) + "\n"


def run(nvim, canzona, folder):
    (folder / "bin").mkdir()
    (folder / "bin/canzona").symlink_to(canzona)
    config = folder / "config/nvim"
    (config / "syntax").mkdir(parents=True)
    shutil.copy(ROOT / "dsl/editor/canzona.vim", config / "syntax")
    (config / "init.lua").write_text(settings(), encoding="utf-8")
    (folder / "session.lua").write_text(SESSION, encoding="utf-8")
    (folder / "my.cz").write_text(TEXT, encoding="utf-8")
    paths = {f"XDG_{name}_HOME": str(folder / name.lower())
             for name in ("CONFIG", "CACHE", "DATA", "STATE")}
    done = subprocess.run(
        [nvim, "--headless", "-n", folder / "my.cz", "-c",
         f"luafile {folder / 'session.lua'}"], capture_output=True, text=True,
        timeout=120, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, **paths, "RESULT": str(folder / "result.json"),
             "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"})
    if not (folder / "result.json").exists():
        sys.exit(f"nvim ends with {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


def complaints(found, canzona):
    if found.get("why"):
        yield found["why"]
        return
    if (found["commentstring"], found["colours"]) != ("# %s", "canzona"):
        yield "comments or colours are not set"
    message, = found["messages"]
    if (message["lnum"], message["col"], message["source"]) != (9, 4, "canzona") or \
            "did you mean 'muon'?" not in message["message"]:
        yield f"message {message}"
    hover = "\n".join(found["hover"])
    for text in ("layers.{0}.up.weight", "[256, 64]", "[128, 64] on a rank",
                 "owner, by `matrices`", "rank "):
        if text not in hover:
            yield f"the hover has no {text}: {hover}"
    if found["definition"] != [2, TEXT.splitlines()[1].index("layers")]:
        yield f"the definition is at {found['definition']}"
    right = subprocess.run([canzona, "fmt", "-"], input=TEXT.replace("moun", "muon"),
                           capture_output=True, text=True, check=True).stdout
    if found["layout"] != right.splitlines():
        yield f"the layout is {found['layout']}"
    if not found["muon"].startswith("optimizer muon("):
        yield f"the library's definition is {found['muon']}"


def main():
    canzona, nvim = pathlib.Path(sys.argv[1]).resolve(), shutil.which("nvim")
    if not nvim:
        print("skipped: there is no nvim, which Debian's package neovim has")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        wrong = list(complaints(run(nvim, canzona, pathlib.Path(name)), canzona))
    print("\n".join(wrong) or "Neovim has messages, hover, definition and layout")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
