;redcode-94
;name     Copier 1
;author   Code Arena
;strategy Four processes copy four cells, once forwards and once backwards; each
;strategy copy does the same.
;assert   CORESIZE == 8000 && MAXLENGTH >= 6

there   equ     1735
beyond  equ     -2917
cells   equ     4               ; as many as there are processes

        org     boot

boot    spl     1
        spl     1
copy    spl     @copy,  there
        mov.i   }copy,  >copy
        mov.i   {copy,  <leap
leap    jmp     @leap,  beyond + cells

        end
