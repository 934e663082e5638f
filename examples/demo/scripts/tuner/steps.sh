# Wins of warrior.red with each of several steps against the warriors of earlier rounds; the best comes last.
for step in 1876 2236 2364 2676 2948 3044 3196 3364; do
    sed "s/^step .*equ .*$/step    equ     $step/" warrior.red > candidate.red
    wins=0
    for rival in previous.red trial.red; do
        wins=$((wins + $(pmars -b -k -r 300 -f candidate.red "$rival" | head -1 | cut -d' ' -f1)))
    done
    echo "$wins $step"
done | sort -n
rm candidate.red
