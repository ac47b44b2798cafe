"""The verbs of the command line, their options and exit codes."""
