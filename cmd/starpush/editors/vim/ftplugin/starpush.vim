" Settings for starpush scripts.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal comments=:##,:# commentstring=#\ %s formatoptions-=t formatoptions+=croql
setlocal expandtab shiftwidth=4 softtabstop=4
setlocal indentexpr=StarpushIndent(v:lnum) indentkeys=0},0),0],!^F,o,O
let b:undo_ftplugin = "setlocal comments< commentstring< formatoptions< expandtab< shiftwidth< softtabstop< indentexpr< indentkeys<"

if exists("*StarpushIndent")
  finish
endif

" s:Code is line lnum without its comment.
function s:Code(lnum)
  return substitute(getline(a:lnum), '\s*#.*$', '', '')
endfunction

" s:GoesOn says whether line lnum goes on with the statement above it.
function s:GoesOn(lnum)
  let before = prevnonblank(a:lnum - 1)
  return before > 0 && (getline(a:lnum) =~ '^\s*\%(with\|then\|else\|by\|and\|or\)\>'
        \ || s:Code(before) =~ '\%([-+*/%=<>]\|\<\%(and\|or\|not\|in\|by\|then\)\)$'
        \ || s:Code(before) =~ '^\s*\%(assert\|with\)\>.*,$')
endfunction

" StarpushIndent is the indent of a line: one step more behind an open bracket and in the
" rest of a statement, one less before a closing bracket.
function StarpushIndent(lnum)
  let before = prevnonblank(a:lnum - 1)
  if before == 0
    return 0
  endif
  if s:GoesOn(a:lnum)
    return indent(before) + (s:GoesOn(before) && getline(before) !~ '^\s*with\>' ? 0 : shiftwidth())
  endif
  let head = before
  while s:GoesOn(head)
    let head = prevnonblank(head - 1)
  endwhile
  let indent = indent(head)
  if s:Code(before) =~ '[{(\[]$'
    let indent += shiftwidth()
  endif
  if getline(a:lnum) =~ '^\s*[})\]]'
    let indent -= shiftwidth()
  endif
  return indent
endfunction
