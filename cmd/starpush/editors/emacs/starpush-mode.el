;;; starpush-mode.el --- Major mode for starpush scripts  -*- lexical-binding: t; -*-

;; Keywords: languages
;; Package-Requires: ((emacs "26.1"))
;; Version: 0.1.0

;;; Commentary:

;; Colours, indents and comments scripts (*.spu).  With eglot, M-x eglot starts the
;; language server `starpush lsp'.

;;; Code:

;; The lists of words come from the tables of the language:
;; STARPUSH_UPDATE=1 go test ./cmd/starpush/editors
;; words begin
(defconst starpush-keywords
  '("acquire" "and" "as" "assert" "break" "by" "checkpoint" "codelet" "continue" "each" "else" "evict" "extern" "for" "func" "hint" "if" "import" "in" "insert" "invalidate" "let" "not" "or" "param" "partition" "prefetch" "register" "release" "return" "struct" "then" "to" "unpartition" "unregister" "wait" "while" "with")
  "Reserved words.")
(defconst starpush-modes
  '("COMMUTE" "R" "REDUX" "RW" "SCRATCH" "W")
  "Access modes.")
(defconst starpush-types
  '("array" "bcsr" "bf16" "block" "bool" "c128" "c64" "complex" "coo" "csc" "csr" "f16" "f32" "f64" "float" "gate" "i16" "i32" "i64" "i8" "int" "kind" "layout" "list" "matrix" "node" "range" "reducer" "string" "task" "tensor" "u16" "u32" "u64" "u8" "variable" "vector" "view" "void" "worker")
  "Types.")
(defconst starpush-functions
  '("abs" "arg" "axis" "blocks" "busy" "cbrt" "ceil" "close" "cols" "complex" "conj" "cos" "cuda" "disk" "entries" "erf" "exp" "float" "floor" "fma" "gate" "gpu" "grid" "halves" "im" "int" "layout" "len" "log" "log2" "max" "min" "nodes" "nonzeros" "numa" "open" "opencl" "pick" "pow" "print" "range" "re" "reducer" "round" "rows" "save" "select" "sin" "sqrt" "str" "tan" "tanh" "tiles" "value" "workers")
  "Builtin functions and filters.")
(defconst starpush-constants
  '("cpu" "cuda" "false" "inf" "max" "min" "none" "opencl" "pi" "prod" "ram" "sum" "true")
  "Predeclared values.")
(defconst starpush-folds
  '("max" "min" "over" "prod" "sum")
  "Words that are keywords in front of a name.")
;; words end

(defvar starpush-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?_ "w" table)
    (modify-syntax-entry ?# "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?\\ "\\" table)
    (dolist (c '(?+ ?- ?* ?/ ?% ?< ?> ?= ?@ ?. ?! ?: ?\; ?,))
      (modify-syntax-entry c "." table))
    table)
  "Syntax table of `starpush-mode'.")

(defun starpush--hole (limit)
  "Find the next expression of an f-string before LIMIT."
  (let (found)
    (while (and (not found) (re-search-forward "{[^{}\n]*}" limit t))
      (let ((start (save-match-data (save-excursion (nth 8 (syntax-ppss (match-beginning 0)))))))
        (setq found (and start (eq (char-before start) ?f)
                         (eq (char-after start) ?\")))))
    found))

(defvar starpush-font-lock-keywords
  `((,(regexp-opt starpush-keywords 'symbols) . font-lock-keyword-face)
    (,(regexp-opt starpush-modes 'symbols) . font-lock-builtin-face)
    ("\\_<\\(?:codelet\\|func\\)[ \t]+\\(\\(?:\\sw\\|\\s_\\)+\\)" 1 font-lock-function-name-face)
    (,(concat (regexp-opt starpush-functions 'symbols) "[ \t]*(") 1 font-lock-builtin-face)
    (,(concat (regexp-opt starpush-folds 'symbols) "[ \t]+\\sw") 1 font-lock-keyword-face)
    (,(regexp-opt starpush-types 'symbols) . font-lock-type-face)
    (,(regexp-opt starpush-constants 'symbols) . font-lock-constant-face)
    ("\\_<[0-9][0-9a-fA-FxX_]*\\(?:\\.[0-9][0-9_]*\\)?\\(?:[eE][-+]?[0-9]+\\)?\\(?:[KMG]i\\)?\\_>" . font-lock-constant-face)
    (starpush--hole 0 font-lock-variable-name-face t))
  "What `starpush-mode' colours besides texts and comments.")

(defcustom starpush-indent-offset 4
  "Columns by which what is inside brackets is indented."
  :type 'integer :safe #'integerp :group 'languages)

(defun starpush--continued (base)
  "The column of the line at point, which BASE is without the lines before it."
  (let ((step starpush-indent-offset)
        (top (car (syntax-ppss)))
        (block (memq (char-after (or (nth 1 (syntax-ppss)) (point-max))) '(nil ?{)))
        (goes-on (looking-at "\\(?:with\\|then\\|else\\|by\\|and\\|or\\)\\_>"))
        before column with head)
    (save-excursion
      (forward-comment (- (point)))
      (when (= (car (syntax-ppss)) top) ; of the same block
        (setq before (buffer-substring (line-beginning-position) (point)))
        (back-to-indentation)
        (setq column (current-column)
              with (looking-at "with\\_>")
              head (looking-at "codelet\\_>"))))
    (cond ((or (null before) (looking-at "[])}]")) base)
          (goes-on (max column (+ base (if head (* 2 step) step))))
          ((string-match-p "\\(?:[-+*/%=<>]\\|\\_<\\(?:and\\|or\\|not\\|in\\|by\\|then\\)\\)\\'" before)
           (max column (+ base step)))
          ((not (and block (string-suffix-p "," before))) base)
          (with (+ column step)) ; one more option
          (t (max column (+ base step))))))

(defun starpush-indent-line ()
  "Indent the line by the brackets around it, more if it goes on with a statement."
  (interactive)
  (let* ((column (current-column))
         (from (current-indentation))
         (to (save-excursion
               (back-to-indentation)
               (let ((lines nil))
                 (dolist (at (nth 9 (syntax-ppss))) ; brackets of one line count once
                   (let ((line (line-number-at-pos at)))
                     (unless (memq line lines) (push line lines))))
                 (starpush--continued
                  (* starpush-indent-offset
                     (max 0 (- (length lines) (if (looking-at "[])}]") 1 0)))))))))
    (indent-line-to to)
    (when (> column from)
      (move-to-column (+ to (- column from))))))

;;;###autoload
(define-derived-mode starpush-mode prog-mode "Starpush"
  "Major mode for starpush scripts."
  (setq-local comment-start "# ")
  (setq-local comment-start-skip "#+[ \t]*")
  (setq-local indent-tabs-mode nil)
  (setq-local indent-line-function #'starpush-indent-line)
  (setq-local electric-indent-chars (append '(?} ?\) ?\]) electric-indent-chars))
  (setq-local font-lock-defaults '(starpush-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.spu\\'" . starpush-mode))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(starpush-mode . ("starpush" "lsp"))))

(provide 'starpush-mode)

;;; starpush-mode.el ends here
