"""The one error that this package raises on purpose."""


class ClusterError(Exception):
    """An error that the user can fix: what is wrong, and what to do.

    The command line prints it as one line and exits with 1; `details` (compiler output, the
    end of a log) follow on lines of their own.
    """

    def __init__(self, what: str, remedy: str = "", *, details: str = "") -> None:
        super().__init__(f"{what}. {remedy}".rstrip(". ") + ".")
        self.what = what
        self.remedy = remedy
        self.details = details
        if details:
            # Tests print notes, too.
            self.add_note(details)
