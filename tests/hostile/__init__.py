"""Hostile cases as data: what a user, a broken disk or an attacker may hand to the program.

Every module of this package that has a list `CASES` takes part; `test_hostile.py` finds the modules by itself and runs
every case of every module. A case is a `Case` (case.py), in the order of its fields:

    Case(name, setup, command, code, message)

- `name`: a few words, unique within the module; the id of the test is MODULE-NAME.
- `setup`: a function of the case's own empty folder that makes its files, or `nothing`. What it returns is called,
  without arguments, when the command has ended: with it a case looks at what is left on the disk.
- `command`: the command line, as one text. It is split as a shell would split it. The working folder is the case's own,
  and the names in `case.NAMES` (`{domain}`, `{problem}`, …) stand for files of the examples.
- `code`: the expected exit code.
- `message`: a part of what is printed, on standard output or standard error. `None` if nothing at all is printed.

Every case must end within ten seconds, print no traceback and no control character, and exit with a known code;
`test_hostile.py` checks that for all cases. They run in this process through `saltus.cli.main.run`.

A module's name says what is hostile: `outputs.py`, `inputs.py`, `records.py`, `names.py`, `policies.py`, …
"""
