;redcode-94
;name     Tuner trial
;author   Code Arena
;strategy Throws SPL 0 at every eighth cell, which drowns the enemy in useless
;strategy processes; after one round of the core it goes over it with DAT.
;assert   CORESIZE == 8000 && MAXLENGTH >= 8

step    equ     3048            ; 8 x 381, and 381 has no factor in common with 1000
throws  equ     999             ; the thousandth would come back to the bomb itself

        org     start

stun    spl     #0,     #0
start   mov.i   stun,   @aim
        add.ab  #step,  aim
        djn.b   start,  #throws
        spl     #0,     <-20    ; from here on ever more processes clear
        mov.i   wipe,   >wipe
aim     jmp     -1,     step + stun - aim
wipe    dat     #0,     #14     ; its own aim: the cell 14 after this one, then onwards

        end
