;redcode-94
;name     Tuner 1
;author   Code Arena
;strategy The starter with a better step: its bombs fall on every fourth cell of
;strategy the core, and its own four cells lie between them.
;assert   CORESIZE == 8000 && MAXLENGTH >= 4

step    equ     3044            ; 4 x 761, and 761 has no factor in common with 2000

        org     start

bomb    dat     #0,     #0
start   mov.i   bomb,   @aim
        add.ab  #step,  aim
aim     jmp     start,  step + bomb - aim

        end
