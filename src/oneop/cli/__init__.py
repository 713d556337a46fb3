"""The `oneop` command. One file for each command or group; nothing here imports torch before a command needs it.

main.py        the parser, and what becomes of errors
output.py      tables, colours, JSON
targets.py     OP or PATH: what a command works on
new.py         a new project, from templates/
registry.py    list, show
check.py, bench.py, card.py, build.py, gen.py, port.py, run.py, cache.py, config.py, info.py, completion.py
"""
