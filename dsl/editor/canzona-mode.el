;;; canzona-mode.el --- colours and language server of Canzona  -*- lexical-binding: t -*-

;;; Commentary:

;; (require 'canzona-mode) in the init file; Eglot starts `canzona lsp', if there
;; is Eglot, which Emacs 29 has.

;;; Code:

(defconst canzona-mode-declarations
  '("import" "let" "machine" "mesh" "model" "params" "optimizer" "def" "table"
    "use" "schedule" "state" "extern" "const" "tie")
  "Words that begin a statement.")

(defconst canzona-mode-words
  '("if" "else" "for" "in" "first" "every" "from" "stagger" "return" "then"
    "and" "or" "not" "active" "any" "as" "blocks" "bucket" "chunk" "chunks" "clip"
    "cycle" "dim" "even" "form" "frozen" "geometry" "grads" "group" "last"
    "layout" "master" "measured" "memory" "nonfinite" "norm" "of" "on" "over"
    "overlap" "partial" "pipeline" "reduced" "shard" "skip" "split" "stage"
    "stored" "strict" "sum" "tiles" "tokens" "tolerance" "transposed" "view"
    "where" "wide" "wire")
  "Words inside a statement.")

(defconst canzona-mode-constants
  '("true" "false")
  "Words that are values.")

(defconst canzona-mode-types
  '("f64" "f32" "bf16" "f16")
  "Types of elements.")

(defvar canzona-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?# "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?\' "." table)
    table)
  "A number sign begins a comment, an apostrophe transposes.")

(defvar canzona-mode-font-lock
  `((,(regexp-opt canzona-mode-declarations 'symbols) . font-lock-keyword-face)
    (,(regexp-opt canzona-mode-words 'symbols) . font-lock-builtin-face)
    (,(regexp-opt canzona-mode-constants 'symbols) . font-lock-constant-face)
    (,(regexp-opt canzona-mode-types 'symbols) . font-lock-type-face))
  "Colours of words.")

;;;###autoload
(define-derived-mode canzona-mode prog-mode "Canzona"
  "Sources of Canzona."
  (setq-local comment-start "# ")
  (setq-local comment-start-skip "#+ *")
  (setq-local font-lock-defaults '(canzona-mode-font-lock)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.cz\\'" . canzona-mode))

(defvar eglot-server-programs)
(declare-function eglot-ensure "eglot")
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(canzona-mode "canzona" "lsp")))
(when (locate-library "eglot")
  (add-hook 'canzona-mode-hook #'eglot-ensure))

(provide 'canzona-mode)

;;; canzona-mode.el ends here
