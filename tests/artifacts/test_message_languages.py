"""What artifacts say, in each language, end to end."""

import numpy as np
import pytest
from artifact_files import make
from test_inspect import zipped

from d2lhybrid import i18n, inspect, load, run_native, verify
from d2lhybrid.__main__ import main
from d2lhybrid.artifacts.publishing import require_own
from d2lhybrid.errors import (
    ArtifactNotFoundError,
    CompilerMissingError,
    DamagedArtifactError,
    UntrustedArtifactError,
)

INSPECTED = {
    "en": [
        "  format:  torchscript (torch)",
        "(any, 4)",
        "signed:  by someone else (key",
        "  may:",
        "model.pt: native code in 'x.so'",
        "PROBLEM: 'extra' does not belong here",
    ],
    "pt": [
        "  formato:   torchscript (torch)",
        "(qualquer, 4)",
        "assinado:  por outra pessoa (chave",
        "  risco:     O carregamento executa",
        "model.pt: código nativo em 'x.so'",
        "PROBLEMA:  'extra' não faz parte disto",
    ],
    "zh": [
        "  格式：   torchscript (torch)",
        "(任意, 4)",
        "签名：   其他人（密钥",
        "  风险：   加载时会运行",
        "model.pt: 'x.so' 中有原生代码",
        "问题：   'extra' 不属于这里",
    ],
    "ja": [
        "  形式：     torchscript (torch)",
        "(任意, 4)",
        "署名：     ほかの人（鍵",
        "  危険性：   読み込み",
        "model.pt: 'x.so'にネイティブコード",
        "問題：     'extra'はここにあるべきではありません",
    ],
}


@pytest.fixture(params=i18n.LANGUAGES)
def language(request):
    i18n.set_language(request.param)
    yield request.param
    i18n.set_language(None)


def test_inspect_is_a_table_whose_columns_line_up(tmp_path, language, user):
    data = zipped([("x.so", b""), ("d/x.py", b"__setstate__")])
    path = make(tmp_path / "a", {"model.pt": data}, format="torchscript")
    (path / "extra").write_bytes(b"x")
    user("someone else")
    said = str(inspect(path))
    assert not [text for text in INSPECTED[language] if text not in said], said
    starts = {
        i18n.width(line[: line.index(value)])
        for line in said.splitlines()[1:]
        for value in ("torchscript (", "torch 1", "x: float32", "'extra'")
        if value in line
    }
    assert len(starts) == 1
    assert inspect(path).signer.startswith("someone else (key ")  # an identifier, for programs
    assert (language == "en") == ("may:" in said)


def test_verify(tmp_path, language):
    path = make(tmp_path / "a")
    said = {
        "en": ("as saved", "not compared: weights alone", "'b' is missing"),
        "pt": ("como foram salvos", "não comparadas: só com pesos", "falta 'b'"),
        "zh": ("与保存时一致", "未比较：仅有权重", "缺少 'b'"),
        "ja": ("保存時のまま", "未比較：重みだけ", "'b'がありません"),
    }[language]
    assert said[0] in str(verify(path))
    assert said[1] in verify(path).outputs
    make(path, {"a": b"1", "b": b"2", "c": b"3", "d": b"4", "e": b"5"})
    (path / "b").unlink()
    assert verify(path).problems == (said[2],)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            ArtifactNotFoundError,
            {
                "en": "nothing is there",
                "pt": "Não há nada ali",
                "zh": "那里什么也没有",
                "ja": "何もありません",
            },
        ),
        (
            UntrustedArtifactError,
            {
                "en": "was signed by someone else",
                "pt": "foi assinado por outra pessoa",
                "zh": "签名者：其他人",
                "ja": "署名：ほかの人",
            },
        ),
        (
            DamagedArtifactError,
            {
                "en": "'c' is missing and 1 more",
                "pt": "falta 'c' e mais 1",
                "zh": "缺少 'c'，另有 1 个",
                "ja": "'c'がありません、ほか1件",
            },
        ),
        (
            ArtifactNotFoundError,
            {
                "en": "Will not overwrite",
                "pt": "não será substituído",
                "zh": "不会覆盖",
                "ja": "上書きしません",
            },
        ),
        (
            CompilerMissingError,
            {
                "en": "Install one: apt install g++",
                "pt": "Instale um: apt install g++",
                "zh": "请安装：apt install g++",
                "ja": "インストールするコマンド：apt install g++",
            },
        ),
    ],
)
def test_errors(tmp_path, language, user, monkeypatch, error, said):
    path = tmp_path / "a"
    if error is not ArtifactNotFoundError:
        files = {"model.pt": b"1", "a": b"1", "b": b"2", "c": b"3", "d": b"4"}
        make(path, files, format="torchscript")
    if error is UntrustedArtifactError:
        user("someone else")
    elif error is DamagedArtifactError:
        for name in "abcd":
            (path / name).unlink()
    elif error is ArtifactNotFoundError:
        (path / "notes.txt").write_text("mine")
    elif error is CompilerMissingError:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CXX", raising=False)
    act = {ArtifactNotFoundError: require_own, CompilerMissingError: _build}
    with pytest.raises(error) as caught:
        act.get(error, load)(path)
    text = str(caught.value)
    assert said[language] in text, text
    assert (language == "en") == any(word in text for word in (" is ", " was ", "Expected", "Will"))


def _build(path):
    return run_native(path, np.ones((1, 4), "float32"))


def test_the_command_line(tmp_path, language, capsys):
    path = make(tmp_path / "a")
    assert main(["inspect", str(path)]) == 0
    assert main(["run", "--help"]) == 0
    said = capsys.readouterr().out
    words = {
        "en": "folder of the artifact",
        "pt": "pasta do artefato",
        "zh": "制品所在的文件夹",
        "ja": "アーティファクトのフォルダ",
    }
    assert words[language] in said
    assert main(["verify", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err.startswith("d2lhybrid verify: ")
