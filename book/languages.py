"""The languages of the collection: one row each. English is the language of the chapters."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """A language and the few words that notebooks add to the chapters' text.

    ``exercise``, ``solution`` and ``figure`` hold ``{}`` where the number goes; ``stop`` ends
    such a word where it opens a paragraph. ``untranslated`` and ``stale`` mark what a build with
    gaps shows. ``tag`` is the BCP 47 name and ``plural`` the rule that gettext's tools know;
    ``decimal_comma`` says how prose writes numbers.
    The front page has ``collection`` as its title, then ``pick``, ``open`` and ``run``; ``onward``
    is the heading above the links at a notebook's end. ``installs`` says what its first code does,
    and ``nowhere`` what to do where that finds no package.
    """

    code: str
    name: str
    exercise: str
    solution: str
    figure: str
    stop: str = "."
    tag: str = "en"
    plural: str = "nplurals=2; plural=(n != 1);"
    decimal_comma: bool = False
    untranslated: str = ""
    stale: str = ""
    collection: str = ""
    pick: str = ""
    open: str = ""
    run: str = ""
    onward: str = ""
    installs: str = ""
    nowhere: str = ""

    @property
    def plural_forms(self) -> int:
        """How many forms of a message its catalogs hold, one for each kind of number."""
        return int(self.plural.partition("nplurals=")[2].partition(";")[0])

    @property
    def gettext_name(self) -> str:
        """The name of the language in a catalog's header, such as ``pt_BR``."""
        return self.tag.replace("-", "_")


ENGLISH = Language(
    "en",
    "English",
    "Exercise {}",
    "Solution {}",
    "Figure {}",
    collection="Compilers and Interpreters: the notebooks",
    pick="Pick a framework and start with the first chapter. Each notebook links to the same "
    "chapter for the other frameworks and in the other languages, and to the next chapter.",
    open="open",
    run="The outputs that you see were made on a CPU. Run the cells (menu *Run*, *Run All Cells*) "
    "for your own: every notebook runs from top to bottom in a few minutes.",
    onward="Where to Go Next",
    installs="Installs what this notebook needs and does not find; else it does nothing.",
    nowhere="Open this notebook in a copy of its repository: the package d2lhybrid is there.",
)

PORTUGUESE = Language(
    "pt",
    "Português (Brasil)",
    "Exercício {}",
    "Solução {}",
    "Figura {}",
    tag="pt-BR",
    plural="nplurals=2; plural=(n > 1);",
    decimal_comma=True,
    untranslated="(ainda não traduzido)",
    stale="(tradução de um texto anterior)",
    collection="Compiladores e interpretadores: os notebooks",
    pick="Escolha um framework e comece pelo primeiro capítulo. Cada notebook tem links para o "
    "mesmo capítulo nos outros frameworks e nos outros idiomas, e também para o capítulo seguinte.",
    open="abrir",
    run="Os resultados que aparecem nos notebooks foram obtidos em uma CPU. Para obter os seus, "
    "execute as células (menu *Run*, *Executar todas as células*; em inglês, *Run All Cells*): "
    "cada notebook roda do início ao fim em poucos minutos.",
    onward="Para onde ir agora",
    installs="Instala o que faltar para este notebook; se não faltar nada, não faz nada.",
    nowhere="Abra este notebook em uma cópia do seu repositório: o pacote d2lhybrid está lá.",
)

CHINESE = Language(
    "zh",
    "简体中文",
    "练习 {}",
    "解答 {}",
    "图 {}",
    stop="",
    tag="zh-CN",
    plural="nplurals=1; plural=0;",
    untranslated="（尚未翻译）",
    stale="（译自旧版原文）",
    collection="编译器和解释器：全部笔记本",
    pick="请选择一个框架，从第一章读起。每个笔记本都附有同一章其他框架版本、其他语言版本，"
    "以及下一章的链接。",
    open="打开",
    run="笔记本中的输出是在 CPU 上得到的。要得到自己机器上的结果，请运行所有单元格"
    "（菜单*运行*、*运行所有单元格*；英文界面为 *Run*、*Run All Cells*）："
    "从头到尾运行一个笔记本需要几分钟。",
    onward="接下来读什么",
    installs="安装本笔记本所需而本机缺少的软件包；如果都已安装，则什么也不做。",
    nowhere="请在代码仓库的副本中打开这个笔记本：软件包 d2lhybrid 取自那里。",
)

JAPANESE = Language(
    "ja",
    "日本語",
    "演習{}",
    "解答{}",
    "図{}",
    stop="",
    tag="ja",
    plural="nplurals=1; plural=0;",
    untranslated="（未翻訳）",
    stale="（旧版の原文にもとづく訳）",
    collection="コンパイラとインタプリタ：ノートブック一覧",
    pick="フレームワークを選び、最初の章から読み始めてください。どのノートブックからも、"
    "同じ章のほかのフレームワーク版とほかの言語版、そして前後の章に移れます。",
    open="開く",
    run="表示されている出力はCPUで得たものです。手元の環境での結果を見るには、セルを実行してください"
    "（メニューの*実行*から*すべてのセルを実行*。英語表示では*Run*、*Run All Cells*）。"
    "どのノートブックも、最初から最後まで数分で終わります。",
    onward="次に読むもの",
    installs="このノートブックに必要で、まだ入っていないパッケージをインストールします。そろっていれば何もしません。",
    nowhere="このノートブックは、リポジトリのコピーの中で開いてください。パッケージd2lhybridはそこから取り込まれます。",
)

LANGUAGES = {language.code: language for language in (ENGLISH, PORTUGUESE, CHINESE, JAPANESE)}
