"""Each verb works or says in a sentence why not, whatever the process that calls it lacks."""

import os
import subprocess
import sys

import pytest
from processes import ROOT, python

# Calls every verb, which "works" or "refuses" with an error that a user can act on: ours, or the
# system's. Anything else ends the process with its traceback.
VERBS = """
import os, sys, threading
sys.path.insert(0, sys.argv[1])
from backends import models
import d2lhybrid as d
from d2lhybrid.errors import D2LHybridError

def main():
    calls = {
        "variants": lambda: d.variants(net, x),
        "compare": lambda: repr(d.compare({"net": net, "again": lambda x: net(x)}, x,
                                          time_limit=0.1)),
        "explain": lambda: repr(d.explain(net, x)),
        "graph": lambda: repr(d.graph(net, x)),
        "save": lambda: d.save(net, "a", x),
        "verify": lambda: d.verify("a"),
        "inspect": lambda: repr(d.inspect("a")),
        "load": lambda: d.load("a")(x),
        "run_native": lambda: d.run_native("a", models.X[:1]),
        **{f"save:{name}": lambda name=name: d.save(net, "b", x, format=name) for name in formats},
    }
    for name, call in calls.items():
        try:
            call()
            print("works", name, flush=True)
        except (D2LHybridError, OSError) as error:
            print("refuses", name, " ".join(str(error).split()), flush=True)
    print("done", flush=True)

framework, *formats = sys.argv[2:]
net, x = getattr(models, framework + "_model")()
net(x)
"""
IN_A_THREAD = "thread = threading.Thread(target=main)\nthread.start()\nthread.join()"
# What has run in the parent has started its threads; a child that waits for them is ended.
FORKED = """
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
main()
os._exit(0)  # without what JAX does at the end: it waits for threads, too
"""
NO_LINKS = "del os.link\nmain()"
# A small disk that is the whole of what may be written to; it needs user namespaces.
FULL = (
    'mount -t tmpfs -o size=64k none . && cd "$PWD" && (cat /dev/zero >filler; true) && exec "$@"'
)

# What cannot work there; every other verb does. In MXNet, which starts quickest, but where another
# framework is named.
NO_DISK = {"save", "verify", "inspect", "load", "run_native"}
REFUSED = {
    "no compiler": {"run_native"},
    "read-only home": NO_DISK,
    # Whose library would end the process; the other format has a writer of its own.
    "full disk of PyTorch": {*NO_DISK, "save:onnx"},
    # MXNet's NumPy mode is one of the main thread.
    "thread": {"variants", "compare", "explain", "graph"},
    # Its threads are not there, without which every call of JAX would wait for ever.
    "fork of JAX": {"variants", "compare", "explain", "graph", *NO_DISK},
    "fork": set(),
    "no links, in a folder with spaces and CJK, optimized": set(),
}


@pytest.mark.parametrize("case", REFUSED)
def test_each_verb_works_or_says_why_not(case, tmp_path, request):
    if case == "no compiler":
        request.getfixturevalue("no_compiler")
    folder = tmp_path / ("模型 フォルダ" if "CJK" in case else "folder")
    folder.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "D2LHYBRID_"))}
    environment |= {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}
    environment |= {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    start = {"thread": IN_A_THREAD, "fork": FORKED}
    what, _, name = case.partition(" of ")
    made = {"JAX": ["jax"], "PyTorch": ["torch", "onnx"]}
    options = ["-O"] if "optimized" in case else []
    script = tmp_path / "verbs.py"
    script.write_text(VERBS + (NO_LINKS if "no links" in case else start.get(what, "main()")))
    command = [sys.executable, *options, str(script), str(ROOT / "tests")]
    command += made.get(name, ["mxnet"])
    if case == "read-only home":
        environment["HOME"] = "/dev/null/home"  # where not even root can write
    if what == "full disk":
        command = ["unshare", "-Urm", "sh", "-c", FULL, "sh", *command]
        if subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode:
            pytest.skip("this system has no user namespaces to mount a small disk in")
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    lines = done.stdout.splitlines()
    assert "done" in lines, done.stdout + done.stderr[-4000:]
    refused = {line.split()[1] for line in lines if line.startswith("refuses")}
    assert refused == REFUSED[case], done.stdout


def test_a_folder_with_the_name_of_a_framework_is_none(tmp_path):
    (tmp_path / "tensorflow").mkdir()
    script = """
import importlib.util, sys
from importlib.machinery import PathFinder
# What `import tensorflow` does in this folder where TensorFlow is not installed.
spec = PathFinder.find_spec("tensorflow", ["."])
sys.modules["tensorflow"] = importlib.util.module_from_spec(spec)
import d2lhybrid as d
d.synchronize()
result = d.compare({"sum": sum, "max": max}, range(9), check=False, time_limit=0.1)
print(list(result))
"""
    said = python("-c", script, cwd=tmp_path).stdout
    assert "['sum', 'max']" in said
