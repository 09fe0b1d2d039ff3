" Colours of Canzona sources, for Vim and Neovim: copy to ~/.vim/syntax or
" ~/.config/nvim/syntax.
if exists("b:current_syntax")
  finish
endif
syntax keyword canzonaStatement mesh model use schedule optimizer def table let import machine
syntax keyword canzonaWord as on where for from if else return state params tie frozen stage
syntax keyword canzonaType f32 bf16 f16 f64
syntax match canzonaNumber "\<\d\+\(\.\d\+\)\?\(e[-+]\?\d\+\)\?[KMG]\?i\?B\?\>"
syntax region canzonaString start=+"+ end=+"+ oneline
syntax match canzonaComment "#.*$"
highlight default link canzonaStatement Statement
highlight default link canzonaWord Keyword
highlight default link canzonaType Type
highlight default link canzonaNumber Number
highlight default link canzonaString String
highlight default link canzonaComment Comment
let b:current_syntax = "canzona"
