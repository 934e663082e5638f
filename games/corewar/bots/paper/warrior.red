;redcode-94
;name     House Paper
;author   Code Arena
;strategy Eight processes copy the warrior in eight cycles, once front to back
;strategy and once back to front, and drop a few bombs in between. The copies
;strategy do the same.
;assert   CORESIZE == 8000 && MAXLENGTH >= 12

there   equ     1904
beyond  equ     -2737
litter  equ     3307
cells   equ     8               ; as many as there are processes

        org     boot

boot    spl     1               ; one process becomes eight
        spl     1
        spl     1

copy    spl     @copy,  there   ; starts the copy that the next line is about to write
        mov.i   }copy,  >copy
        mov.i   bomb,   >litter
        mov.i   bomb,   <litter
        mov.i   {copy,  <leap   ; back to front, which winds the A-number of `copy` back to 0
leap    jmp     @leap,  beyond + cells
bomb    dat     <2667,  <5334

        end
