;redcode-94
;name     House Vampire
;author   Code Arena
;strategy Throws jumps into a pit, where captured processes split themselves
;strategy to death while they clear the core for their new master.
;assert   CORESIZE == 8000 && MAXLENGTH >= 24

step    equ     2236            ; 4 x 559: fangs land on every fourth cell, none of them on the code

        org     throw

move    dat     #step,  #-step
fang    jmp     pit - step, step    ; B-number: where it lands; A-number: the way from there to the pit
throw   mov.i   fang,   @fang
        sub.f   move,   fang
        jmp     throw,  <-101

        for     13
        dat     0,      0
        rof

pit     spl     0,      <-401       ; prisoners dig here, ever slower,
        mov.i   bomb,   <bomb       ; and throw bombs backwards for us
        jmp     pit
        dat     0,      0
bomb    dat     <2667,  #-60

        end
