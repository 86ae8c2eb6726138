"""Here so that tests/ is on the path and every test can `import harness`."""

import sys

if "jsonschema" not in sys.modules:  # it would compile a grammar of web addresses, for a second; nobody asks for it
    sys.modules["rfc3987_syntax"] = None
