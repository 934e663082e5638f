;redcode-94
;name     House Stone and Imps
;author   Code Arena
;strategy A bomber beside a three-armed imp spiral: the bomber wins, and when
;strategy it is lost the imps are hard to kill and save the draw.
;assert   CORESIZE == 8000 && MAXLENGTH >= 40

arm     equ     2667            ; three arms make one cell more than a whole round
step    equ     2948            ; 4 x 737

        org     boot

bomb    dat     <1,     #1
loop    mov.i   bomb,   @aim
        add.ab  #step,  aim
aim     jmp     loop,   step + bomb - aim

        for     25
        dat     0,      0
        rof

boot    spl     loop
        spl     high            ; a tree of splits sends its four processes off in the order of the arms
        spl     low
        jmp     imp
low     jmp     imp + arm
high    spl     top
        jmp     imp + 2 * arm
top     jmp     imp + 3 * arm
imp     mov.i   #0,     arm

        end
