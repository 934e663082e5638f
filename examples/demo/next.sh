# Says what to look at after the demo.
run=$(ls -td results/battlesnake-* | head -n 1)
arena=.venv/bin/arena
cat <<END

Next:
  $arena show $run      rounds, scores, edits
  $arena list                       all runs so far
  $arena verify $run    plays matches again and compares
  git -C $run/players/improver/repo.git log -p      what a player did to its code
  $arena run examples/first.yaml     a config to start your own from
END
