"""Check .github/: valid workflows, with no opening for an attacker.

``make check`` runs this file. check-jsonschema compares the files with the schemas that it brings;
zizmor looks for what makes a workflow unsafe, such as an action that is not pinned or an expression
that lets in code. Neither asks the network.
"""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORGE = ROOT / ".github"


def problems(folder: Path) -> str:
    """What the two linters say about a folder such as .github; nothing if all is well."""
    zizmor = shutil.which("zizmor", path=sysconfig.get_path("scripts"))
    if zizmor is None:
        return "Expected zizmor beside this Python, found none; run `make setup`."
    workflows = sorted(map(str, folder.glob("workflows/*.yml")))
    if not workflows:
        return f"Expected workflows in {folder}/workflows, found none."
    dependabot = [str(path) for path in folder.glob("dependabot.yml")]
    schema = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    commands = [
        [*schema, "vendor.github-workflows", *workflows],
        *([*schema, "vendor.dependabot", path] for path in dependabot),
        [zizmor, "--offline", "--no-config", "--pedantic", *workflows, *dependabot],
    ]
    for command in commands:  # what the schema refuses, zizmor cannot read
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            return (done.stdout + done.stderr).strip()
    return ""


def main() -> None:
    """Say what is wrong with the workflows of this repository."""
    if found := problems(FORGE):
        sys.exit(found)


if __name__ == "__main__":
    main()
