" Colours of Canzona sources, for Vim and Neovim: in a folder syntax/ of the
" editor's, where `make install` puts it, too.
if exists("b:current_syntax")
  finish
endif
syntax keyword canzonaStatement import let machine mesh model params optimizer def table
syntax keyword canzonaStatement use schedule state extern const tie
syntax keyword canzonaControl if else for in first every from stagger return then
syntax keyword canzonaOperator and or not
syntax keyword canzonaWord active any as blocks bucket chunk chunks clip cycle dim even form
syntax keyword canzonaWord frozen geometry grads group last layout master measured
syntax keyword canzonaWord memory nonfinite norm of on over overlap partial pipeline
syntax keyword canzonaWord reduced shard skip split stage stored strict sum tiles tokens
syntax keyword canzonaWord tolerance transposed view where wide wire
syntax keyword canzonaBoolean true false
syntax keyword canzonaType f32 bf16 f16 f64
syntax match canzonaNumber "\<\d\+\(\.\d\+\)\?\(e[-+]\?\d\+\)\?[KMG]\?i\?B\?\>"
syntax region canzonaString start=+"+ end=+"+ oneline
syntax match canzonaComment "#.*$"
highlight default link canzonaStatement Statement
highlight default link canzonaControl Conditional
highlight default link canzonaOperator Operator
highlight default link canzonaWord Keyword
highlight default link canzonaBoolean Boolean
highlight default link canzonaType Type
highlight default link canzonaNumber Number
highlight default link canzonaString String
highlight default link canzonaComment Comment
let b:current_syntax = "canzona"
