;redcode-94
;name     House Scanner
;author   Code Arena
;strategy Compares two cells a fixed distance apart; where they differ it lays a
;strategy carpet of SPL 0, which drowns the opponent in useless processes.
;strategy Back at itself, or after so many finds, it clears the core for good.
;assert   CORESIZE == 8000 && MAXLENGTH >= 20

gap     equ     9               ; distance of the two cells compared
stride  equ     (2 * gap)
carpet  equ     (gap + 7)
first   equ     (look + 200)
finds   equ     12
ahead   equ     60              ; the clearing begins this far ahead
sweeps  equ     (CORESIZE - 120)

        org     look

next    add.f   move,   look
look    sne.i   first + gap, first
        jmp     next
        slt.a   #move - look + gap, look    ; skips unless it is us
        jmp     clear
        mov.ab  #carpet, rows
lay     mov.i   stun,   >look
rows    djn.b   lay,    #0
        sub.ab  #carpet, look
        djn.b   next,   #finds
clear   mov.i   wipe,   >sweep
count   djn.b   clear,  #sweeps
        mov.ab  #ahead, sweep
        mov.ab  #sweeps, count
        jmp     clear
stun    spl     #0,     0
sweep   dat     0,      ahead
wipe    dat     <2667,  #0
move    dat     stride, stride

        end
