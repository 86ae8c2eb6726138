"""Adds to a wheel the files that it needs beside the code: agon's conf and notebooks, and the inputs of games, as data.dvc pins them."""

import json
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PARTS = ("logs/", "problems/", "rulesets/", "settings/")
"""The parts of data/ that games need. They are small."""


class Shipped(BuildHookInterface):
    """Puts these files into agon/shipped. An editable install finds them in its checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Gathers the files. All of them are in Git."""
        if version != "standard":
            return
        root, self.gathered = Path(self.root), TemporaryDirectory()
        pinned = re.search(r"md5: (\w+\.dir)", (root / "data.dvc").read_text())[1]
        for each in json.loads(_stored(root, pinned).read_text()):
            if each["relpath"].startswith(PARTS):
                target = Path(self.gathered.name, "data", each["relpath"])
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(_stored(root, each["md5"]), target)
        build_data["force_include"] |= {
            self.gathered.name: "agon/shipped",
            str(root / "conf"): "agon/shipped/conf",
            str(root / "notebooks"): "agon/shipped/notebooks",
        }

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Deletes the gathered copies."""
        if version == "standard":
            self.gathered.cleanup()


def _stored(root: Path, md5: str) -> Path:
    return root / "store/files/md5" / md5[:2] / md5[2:]
