;redcode-94
;name     House Dwarf
;author   Code Arena
;strategy Bombs every fourth cell for ever; its own four cells lie so that the
;strategy only one it ever hits is the bomb, which it overwrites with itself.
;assert   CORESIZE % 4 == 0 && MAXLENGTH >= 4

step    equ     2364            ; 4 x 591, and 591 has no factor in common with 8000 / 4

        org     start

bomb    dat     <2667,  #0
start   mov.i   bomb,   @aim
        add.ab  #step,  aim
aim     jmp     start,  step + bomb - aim

        end
