;redcode-94
;name     Starter
;author   Code Arena
;strategy Throws a bomb at every tenth cell, one cell after another.
;assert   CORESIZE == 8000 && MAXLENGTH >= 5

; A legal but weak warrior. Its bombs will come round the core and hit itself,
; it has one process only, and it never looks where the opponent is.
; Test a change with:  pmars -b -r 200 warrior.red OTHER.red

step    equ     10              ; distance between two bombs

        org     start

start   add.ab  #step,  aim     ; move the B-number of aim on by step
aim     mov.i   bomb,   start   ; copy the bomb there
        jmp     start
bomb    dat     #0,     #0      ; a process that executes this dies

        end
