"""What ``inspect`` says, in each language: a table whose columns line up."""

import pytest
from artifact_files import make
from test_inspect import zipped

from d2lhybrid import i18n, inspect

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
        "  formato:    torchscript (torch)",
        "(qualquer, 4)",
        "assinatura: de outra pessoa (chave",
        "  risco:      O carregamento executa",
        "model.pt: código nativo em 'x.so'",
        "PROBLEMA:   'extra' não faz parte disto",
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
