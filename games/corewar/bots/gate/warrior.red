;redcode-94
;name     House Gate
;author   Code Arena
;strategy Sits still behind an imp gate: whatever crawls through the cell
;strategy in front of it is changed under its feet and dies.
;assert   CORESIZE >= 800

gate    equ     (here - 12)

        org     here

here    spl     #0,     <gate   ; keeps making processes, keeps counting the gate down
        jmp     -1,     <gate

        end
