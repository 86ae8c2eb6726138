"""Read first by every Python process that has this folder on PYTHONPATH: writes down the files below a project that it reads."""

import os
import sys


def _write_down_what_is_read() -> None:
    project, log = os.environ.get("AUDITED"), os.environ.get("AUDIT_LOG")
    if not project or not log:
        return
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def watch(event, arguments):
        if event == "open" and isinstance(arguments[0], str) and arguments[2] & os.O_ACCMODE == os.O_RDONLY:
            path = os.path.abspath(arguments[0])
            if path.startswith(f"{project}/") and not os.path.isdir(path):
                os.write(file, f"{path[len(project) + 1 :]}\n".encode())

    sys.addaudithook(watch)


_write_down_what_is_read()
