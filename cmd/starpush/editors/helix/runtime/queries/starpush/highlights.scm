; Colours of starpush scripts by the tokens of the Python grammar, which both have: names,
; numbers, texts and comments. What the grammar makes of whole statements does not matter.
; No token matches two patterns.

((comment) @comment.block.documentation (#match? @comment.block.documentation "^##"))
((comment) @comment.line (#not-match? @comment.line "^##"))
(string) @string
[(integer) (float)] @constant.numeric

; The lists of words come from the tables of the language:
; STARPUSH_UPDATE=1 go test ./cmd/starpush/editors
; words begin
((identifier) @keyword (#match? @keyword
  "^(acquire|and|as|assert|break|by|checkpoint|codelet|continue|each|else|evict|extern|for|func|hint|if|import|in|insert|invalidate|let|not|or|over|param|partition|prefetch|register|release|return|struct|then|to|unpartition|unregister|wait|while|with)$"))
((identifier) @keyword.storage.modifier (#match? @keyword.storage.modifier
  "^(COMMUTE|R|REDUX|RW|SCRATCH|W)$"))
((identifier) @type.builtin (#match? @type.builtin
  "^(array|bcsr|bf16|block|bool|c128|c64|complex|coo|csc|csr|f16|f32|f64|float|gate|i16|i32|i64|i8|int|kind|layout|list|matrix|node|range|reducer|string|task|tensor|u16|u32|u64|u8|variable|vector|view|void|worker)$"))
((identifier) @function.builtin (#match? @function.builtin
  "^(abs|arg|axis|blocks|busy|cbrt|ceil|close|cols|conj|cos|cuda|disk|entries|erf|exp|floor|fma|gpu|grid|halves|im|len|log|log2|max|min|nodes|nonzeros|numa|open|opencl|pick|pow|print|re|round|rows|save|select|sin|sqrt|str|tan|tanh|tiles|value|workers)$"))
((identifier) @constant.builtin (#match? @constant.builtin
  "^(cpu|false|inf|none|pi|prod|ram|sum|true)$"))
; words end

; reserved words of Python, where its grammar takes them for such
["import" "as" "if" "else" "for" "in" "while" "return" "break" "continue" "assert" "with" "and" "or" "not"] @keyword

["+" "-" "*" "/" "%" "**" "//" "&" "|" "^" "~" "<<" ">>" "=" "==" "!=" "<" "<=" ">" ">=" "+=" "-=" "*=" "/=" "&=" "|=" "^=" "<<=" ">>=" "->" "@"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":" "."] @punctuation.delimiter
