" Syntax of starpush scripts, for Vim and Neovim.
if exists("b:current_syntax")
  finish
endif

" The lists of words come from the tables of the language:
" STARPUSH_UPDATE=1 go test ./cmd/starpush/editors
" words begin
syn keyword starpushKeyword acquire and as assert break by checkpoint codelet continue each else evict extern for func hint if import in insert invalidate let not or param partition prefetch register release return struct then to unpartition unregister wait while with
syn keyword starpushMode COMMUTE R REDUX RW SCRATCH W
syn match starpushType "\<\%(array\|bcsr\|bf16\|block\|bool\|c128\|c64\|complex\|coo\|csc\|csr\|f16\|f32\|f64\|float\|gate\|i16\|i32\|i64\|i8\|int\|kind\|layout\|list\|matrix\|node\|range\|reducer\|string\|task\|tensor\|u16\|u32\|u64\|u8\|variable\|vector\|view\|void\|worker\)\>"
syn match starpushConstant "\<\%(cpu\|cuda\|false\|inf\|max\|min\|none\|opencl\|pi\|prod\|ram\|sum\|true\)\>"
syn match starpushKeyword "\<\%(max\|min\|over\|prod\|sum\)\>\ze\s\+\h"
syn match starpushFunction "\<\%(abs\|arg\|axis\|blocks\|busy\|cbrt\|ceil\|close\|cols\|complex\|conj\|cos\|cuda\|disk\|entries\|erf\|exp\|float\|floor\|fma\|gate\|gpu\|grid\|halves\|im\|int\|layout\|len\|log\|log2\|max\|min\|nodes\|nonzeros\|numa\|open\|opencl\|pick\|pow\|print\|range\|re\|reducer\|round\|rows\|save\|select\|sin\|sqrt\|str\|tan\|tanh\|tiles\|value\|workers\)\>\ze\s*("
" words end

syn match starpushOperator "->\|\.\.=\?\|==\|!=\|<=\|>=\|[-+*/]=\|\*\*\|//\|[-+*/%<>=@]"
syn match starpushNumber "\<0[xX][0-9a-fA-F_]\+\>"
syn match starpushNumber "\<\d[0-9_]*\%(\.\d[0-9_]*\)\?\%([eE][-+]\?\d\+\)\?\%([KMG]i\)\?\>"
syn match starpushDeclared "\%(\<\%(codelet\|func\)\s\+\)\@<=\h\w*"

syn match starpushEscape "\\." contained
syn match starpushEscape "{{\|}}" contained
syn region starpushString start=+"+ skip=+\\.+ end=+"+ oneline contains=starpushEscape,@Spell
syn region starpushString start=+\<f"+ skip=+\\.+ end=+"+ oneline contains=starpushEscape,starpushHole,@Spell
syn region starpushHole matchgroup=starpushEscape start="{{\@!" end="}" oneline contained contains=TOP

syn keyword starpushTodo TODO FIXME XXX contained
syn match starpushComment "#.*$" contains=starpushTodo,@Spell
syn match starpushDoc "##.*$" contains=starpushTodo,@Spell

hi def link starpushKeyword Statement
hi def link starpushMode StorageClass
hi def link starpushType Type
hi def link starpushFunction Function
hi def link starpushConstant Constant
hi def link starpushOperator Operator
hi def link starpushNumber Number
hi def link starpushDeclared Identifier
hi def link starpushEscape SpecialChar
hi def link starpushString String
hi def link starpushTodo Todo
hi def link starpushComment Comment
hi def link starpushDoc SpecialComment

let b:current_syntax = "starpush"
