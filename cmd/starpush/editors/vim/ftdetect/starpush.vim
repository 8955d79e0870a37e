autocmd BufNewFile,BufRead *.spu setfiletype starpush
