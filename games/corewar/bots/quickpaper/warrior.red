;redcode-94
;name     House Quick Paper
;author   Code Arena
;strategy Looks at forty places before anything else; what it finds there gets a
;strategy carpet of bombs. Then it turns into paper.
;assert   CORESIZE == 8000 && MAXLENGTH >= 75

stretch equ     190             ; distance of two places
before  equ     7               ; the carpet begins this far before the place
length  equ     45
there   equ     1862
beyond  equ     -3251
litter  equ     2803
cells   equ     8

        org     quick

quick
i       for     20
        seq.i   found + (2 * i - 1) * stretch, found + 2 * i * stretch
        mov.ab  #(2 * i - 1) * stretch - before, found
        rof
        jmz.b   boot,   found

        mov.b   found,  other
        add.ab  #stretch - 1, other         ; the other place of the pair, seen from the cell behind
strike  mov.i   bomb,   >found
        mov.i   bomb,   >other
        djn.b   strike, #length

boot    spl     1
        spl     1
        spl     1
copy    spl     @copy,  there
        mov.i   }copy,  >copy
        mov.i   bomb,   >litter
        mov.i   bomb,   <litter
        mov.i   {copy,  <leap
leap    jmp     @leap,  beyond + cells
bomb    dat     <2667,  <5334
        dat     0,      0
found   dat     0,      0
other   dat     0,      0

        end
