"""The command line: functions and models in a file, what it prints, what it says is wrong."""

import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from processes import ROOT, python

from d2lhybrid import Comparison, __main__ as cli
from d2lhybrid.core.i18n import set_language

SOURCES = {
    "helper.py": "def total(n):\n    return sum(range(n))\n",
    "my-program.py": (
        "from helper import total\nprint('loading')\nnumber = 3\n"
        "def f():\n    return total(2000)\n"
        "def other():\n    return 1\n"
    ),
    "undefined.py": "import os\ntorhc\n",
    "broken.py": "import sys\nsys.exit('no way')\n",
    "my_model.py": (
        "import jax.numpy as jnp\n"
        "from helper import total\n"
        "def net(x, scale=1.0):\n    return jnp.tanh(x) * scale * total(3)\n"
        "from d2lhybrid import call, variants\n"
        "def example():\n    return net, jnp.ones(8)\n"
        "def with_keywords():\n    return call(net, jnp.ones(8), scale=3.0)\n"
        "def within():\n    return (lambda x: net(x, 2.0)), jnp.ones(8)\n"
        "def alone():\n    return net\n"
        "def swapped():\n    return jnp.ones(8), net\n"
        "def three():\n    return net, jnp.ones(8), 3\n"
        "def failing():\n    raise ValueError('no data here')\n"
        "def ways():\n"
        "    x = jnp.ones(8)\n"
        "    return {'now': lambda: net(x), 'later': call(net, x, scale=1.0)}\n"
        "def nothing():\n    return {}\n"
        "def left_out():\n    return variants(net, jnp.ones(8), True).only('compiled ahead')\n"
    ),
    "step.py": (
        "import torch\n"
        "from d2lhybrid import training\n"
        "net = torch.nn.Linear(2, 1)\n"
        "def steps():\n"
        "    optimizer = torch.optim.SGD(net.parameters())\n"
        "    batch = torch.ones(4, 2), torch.ones(4, 1)\n"
        "    return training(net, torch.nn.MSELoss(), optimizer, batch).only('eager')\n"
    ),
    "blocks.py": (
        "import torch\n"
        "from torch.nn import functional as F\n"
        "class Block(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return F.relu(x) + 1\n"  # by the name that it has in the file
        "net, x = torch.nn.Sequential(Block(), torch.nn.Linear(4, 4)).eval(), torch.ones(1, 4)\n"
        "fast = torch.compile(net, backend='eager', fullgraph=True)\n"
        "def eager():\n    return net(x)\n"
        "def compiled():\n    return fast(x)\n"
    ),
}
QUICK = ("--time-limit", "0.2")
EXAMPLE = "from d2lhybrid import call\n\ndef example():\n    return call(net, x)\n"


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    """The files to compare functions of, here; nothing that they import stays."""
    for name, source in SOURCES.items():
        (tmp_path / name).write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield
    for name in [name for name in sys.modules if name == "helper" or name.startswith("file_")]:
        del sys.modules[name]
    set_language(None)


def test_a_table_json_and_the_status_of_other_answers(capsys):
    assert cli.main(["compare", "my-program.py", "f", "other", *QUICK]) == 1
    shown = capsys.readouterr()
    assert re.search(r"\nf .*other", shown.out, re.DOTALL)
    assert "loading" in shown.err
    assert cli.main(["compare", "my-program.py", "f", "other", "--no-check", "--json", *QUICK]) == 0
    printed = capsys.readouterr().out
    assert set(Comparison.from_json(printed)) == {"f", "other"}
    assert [*json.loads(printed)][:3] == ["schema", "version", "summary"]


@pytest.mark.parametrize("example", ["example", "with_keywords", "three"])
def test_the_ways_to_run_the_model_of_an_example(example, capsys):
    assert cli.main(["compare", f"my_model.py:{example}", *QUICK]) == 0
    assert re.search(r"\neager .*\njit ", capsys.readouterr().out, re.DOTALL)


@pytest.mark.parametrize(
    ("example", "labels"),
    [("my_model.py:ways", ["now", "later"]), ("step.py:steps", ["eager"])],
)
def test_the_callables_that_an_example_names(example, labels, capsys):
    assert cli.main(["compare", example, "--json", *QUICK]) == 0
    assert list(Comparison.from_json(capsys.readouterr().out)) == labels


def test_of_the_ways_to_run_a_model_a_machine_may_lack_some(monkeypatch, capsys):
    lacking = SimpleNamespace(stopped="stable", unavailable={"on chip": "there is no chip"})
    monkeypatch.setattr(cli, "compare", Mock(return_value=lacking))
    assert cli.main(["compare", "my_model.py:example"]) == 0
    assert cli.main(["compare", "my-program.py", "f", "other"]) == 1


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("my_model.py", "my_model.py"),
        ("my_model.py", "my model-2.py"),  # whose name no import statement can have
        ("my_model.py", "test.py"),  # as a module of Python's, whose place it must not take
    ],
)
def test_other_processes_find_the_file_and_what_it_imports(file, name, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    for source in (file, "helper.py"):
        (folder / (name if source == file else source)).write_text(SOURCES[source])
    options = "--processes", "2", "--threads", "1", "--no-check", "--json", *QUICK
    command = "-m", "d2lhybrid", "compare", f"models/{name}:within"
    found = Comparison.from_json(python(*command, *options, cwd=tmp_path).stdout)
    assert {*found} >= {"eager", "jit"}
    assert len(found.processes) >= 2


def test_a_compiler_finds_there_what_a_block_of_the_file_names(tmp_path):
    options = "--processes", "1", "--json", *QUICK
    command = "compare", "blocks.py", "eager", "compiled", *options
    done = python("-m", "d2lhybrid", *command, cwd=tmp_path)
    assert list(Comparison.from_json(done.stdout)) == ["eager", "compiled"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("compar x", "invalid choice: 'compar' (choose from 'compare', "),
        ("compare my_model.py:example --proceses=2", "unrecognized arguments: --proceses=2"),
        ("compare none.py f --processes six", "argument --processes: invalid int value: 'six'"),
        ("doctor --language fr", "invalid choice: 'fr' (choose from 'en', 'pt', 'zh', 'ja')"),
        ("", "{compare,explain,doctor,verify}"),
    ],
)
def test_lines_that_cannot_be_read(line, said, capsys):
    with pytest.raises(SystemExit) as exiting:
        cli.main(line.split())
    assert exiting.value.code == 2
    assert said in capsys.readouterr().err


def test_the_language_of_help_and_messages(capsys):
    assert cli.main(["verify", "--language", "ja", "nothing"]) == 1
    assert re.search(r"[\u3040-\u30ff]", capsys.readouterr().err)
    with pytest.raises(SystemExit):
        cli.main(["--language", "pt", "compare", "--help"])
    assert "imprime JSON" in capsys.readouterr().out


def test_what_the_compiler_makes_of_an_example(capsys):
    assert cli.main(["explain", "my_model.py:example"]) == 0
    assert re.search(r"graphs in one call: +1\n", capsys.readouterr().out)


def test_only_the_result_is_on_the_standard_output(tmp_path):
    (tmp_path / "loud.py").write_text(
        "import os, warnings\nos.system('echo a program')\nwarnings.warn('a warning')\n"
        "def f():\n    print('a call')\n    os.write(1, b'native code')\n"
    )
    options = "--json", *QUICK, "--processes", "1"
    done = python("-m", "d2lhybrid", "compare", "loud.py", "f", *options, cwd=tmp_path)
    assert list(Comparison.from_json(done.stdout)) == ["f"]
    assert "a program" in done.stderr
    assert "a warning" in done.stderr


def test_it_runs_as_a_module():
    module = "-m", "d2lhybrid", "compare"
    assert "no way" in python(*module, "broken.py", "f", status=1, cwd=".").stderr
    read, written = os.pipe()
    os.close(read)  # as ``head`` does, when it has seen enough
    command = [sys.executable, *module, "my-program.py", "f", *QUICK]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, stdout=written, stderr=subprocess.PIPE, env=env)
    os.close(written)
    assert (done.returncode, done.stderr) == (0, b"loading\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("compare none.py f", "no such file"),
        ("compare none.py:example", "no such file"),
        ("compare my-program.py f number", "function 'number'"),
        ("compare my-program.py f othr", "Write 'other'."),
        ("compare my-program.py f --processes 0", "such as --processes 6. Received: 0."),
        ("compare my-program.py f --threads 0", "such as --threads 1. Received: 0."),
        ("compare my-program.py f --time-limit 0", "such as --time-limit 10. Received: 0.0."),
        ("compare my-program.py f --build-timeout nan", "such as --build-timeout 60. Received:"),
        ("compare my-program.py f --check -1", "0 or more, such as --check 0.01, or --no-check."),
        ("compare my-program.py", "as my-program.py:example. Received: 'my-program.py'"),
        ("compare my_model.py:example alone", "'my_model.py:example', but there is no such file"),
        ("compare my_model.py:exmaple", "Write 'example'."),
        ("compare my_model.py:alone", f"Received: net. Write this:\n\n{EXAMPLE}"),
        ("compare my_model.py:nothing", "The dict is empty. Expected my_model.py:nothing to ret"),
        ("compare my_model.py:left_out", "compiled ahead was left out: it takes no static"),
        ("compare my_model.py:swapped", "to return what to compare. Received: (Tensor, net)."),
        ("compare my_model.py:net", "missing 1 required positional argument: 'x'"),
        ("compare my_model.py:failing", "Could not run my_model.py:failing (ValueErr"),
        ("compare undefined.py f", "name 'torhc' is not defined (undefined.py, line 2)"),
        ("explain my_model.py", "Received: 'my_model.py'"),
        ("explain my_model.py:failing", "no data here (my_model.py, line 19)"),
        ("explain my_model.py:ways", "holds several callables"),
        ("compare broken.py f", "SystemExit: no way"),
        ("compare helper.py total", "Could not run 'total' without arguments (TypeE"),
        ("doctor numpy", "one of the frameworks"),
        ("doctor PyTorhc", "Write 'torch'."),
        ("verify nothing", "Expected a folder"),
    ],
)
def test_what_the_functions_refuse(arguments, said, capsys):
    assert cli.main(arguments.split()) == 1
    printed = capsys.readouterr().err
    _before, command, message = printed.rpartition(f"d2lhybrid {arguments.split()[0]}: ")
    assert command
    assert said in message


def test_a_name_that_the_system_refuses_is_refused_in_its_words(capsys):
    assert cli.main(["verify", "a" * 300]) == 1
    assert re.search(r"d2lhybrid verify: .*File name too long", capsys.readouterr().err)


@pytest.mark.parametrize("name", ["nul\0byte", "not-utf-8-\udcff", "\ud800"])
def test_names_that_no_file_has(name, capsys):
    assert cli.main(["verify", name]) == 1
    said = capsys.readouterr().err.encode("utf-8", "backslashreplace").decode()
    assert re.fullmatch(r"d2lhybrid verify: .*nothing at '.*'\. Check the path.*\n", said)


def test_a_name_that_is_no_text(tmp_path):
    """A folder whose name is not UTF-8 is found, and named in a way that a terminal can show."""
    try:
        (tmp_path / "\udcff").mkdir()
    except OSError:
        pytest.skip("the file system takes only names in UTF-8")
    done = python("-m", "d2lhybrid", "verify", "\udcff", status=1, cwd=tmp_path)
    assert re.search(r"\\udcff' has no file d2lhybrid\.json", done.stderr)


def test_the_status_says_whether_an_artifact_is_what_was_saved(monkeypatch, capsys):
    for answer, status in {"proved": 0, "failed": 1, "not run": 3}.items():
        found = SimpleNamespace(answer=answer)
        monkeypatch.setattr(cli, "verify", Mock(return_value=found))
        assert cli.main(["verify", "my_mlp", "--trust"]) == status
        cli.verify.assert_called_with("my_mlp", trust=True)
        assert str(found) in capsys.readouterr().out


def test_an_interrupt_says_what_is_known(monkeypatch, capsys):
    monkeypatch.setattr(cli, "compare", Mock(side_effect=KeyboardInterrupt("two of three")))
    assert cli.main(["compare", "my-program.py", "f"]) == 130
    assert capsys.readouterr().err.endswith("d2lhybrid compare: two of three\n")
    monkeypatch.setattr(cli, "compare", Mock(side_effect=KeyboardInterrupt))
    assert cli.main(["compare", "my-program.py", "f"]) == 130
    assert capsys.readouterr().err.endswith("d2lhybrid compare: interrupted\n")
    some = SimpleNamespace(stopped="interrupted")
    monkeypatch.setattr(cli, "compare", Mock(return_value=some))
    assert cli.main(["compare", "my-program.py", "f"]) == 130
