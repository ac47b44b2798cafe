"""`kubectl gang`: what gangs wait for, from the command line, with the user's own rights.

A command reads one list per kind into a `Snapshot`, a pure function turns it into a report, and a
renderer prints the report. Nothing is installed in the cluster. The package imports `shared_api`
only.
"""
