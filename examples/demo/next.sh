# Says what to look at after the demo.
arena=.venv/bin/arena
run=$(ls -td results/battlesnake-* | head -n 1)
match=$(ls "$run/rounds/004/replays" | head -n 1)
cat <<END

What to look at next:

  $arena replay $run ${match%.json.gz}
      a match of the last round, in the terminal
  git -C $run/players/improver/repo.git log -p
      what a player did to its code, step by step
  $arena verify $run -n 50
      plays 50 of the matches again and compares
  $arena list
      every run so far
  $arena run examples/first.yaml
      a config to start your own from
END
