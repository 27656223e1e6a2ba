"""Verdicts in Chinese, German, French, Spanish, Portuguese and Japanese, where a sentence says nothing besides."""

import re
from typing import Final

NOUNS_APART: Final = "antwort respuesta réponse resposta"
"""Words for a response, with a space between them and its letter."""
NOUNS_JOINED: Final = "回答 答案 回复 回覆 答复"
"""Words for a response that its letter follows at once."""
TIES: Final = (
    "unentschieden gleichstand gleichwertig gleich_gut égalité match_nul équivalentes empate equivalentes "
    "igual_de_buenas igualmente_buenas igualmente_boas 平局 平手 不分上下 不相上下 同样好 一样好 引き分け 互角 同等"
)
"""Words for a tie; `_` stands for a space, here and below."""

# The words that a plain sentence may have, by the sign for their part in the grammar below.
_WORDS: Final = {
    "n": f"{NOUNS_APART} {NOUNS_JOINED} 答え antworten respuestas réponses respostas",
    "=": TIES,
    "+": "besser beste bessere überlegen meilleure meilleur supérieure supérieur préférable mejor preferible melhor "
    "preferível superior 更胜一筹 更好 更优 更佳 较好 较优 最好 最佳 胜出 获胜 優れています 優れている 優れた "
    "より良い 良い よい いい 優秀",
    "-": "schlechter schlechtere unterlegen pire inférieure inférieur peor pior inferior 更差 较差 劣っています "
    "劣っている",
    "!": "gewinnt gagne l'emporte gana vence ganha 优于 好于 胜过",
    "~": "不如",
    "c": "比",
    ">": "als que do_que よりも より",
    ".": "ist war est es é sind sont son são 是 为 為 は が です だ :",
    "#": "weil da denn car parce_que puisque porque ya_que pues pois já_que 因为 由于 なぜなら",
    "l": "urteil entscheidung ergebnis gewinner gewinnerin sieger wahl fazit verdict gagnant gagnante vainqueur "
    "décision choix conclusion veredicto ganador ganadora decisión elección conclusión veredito vencedor vencedora "
    "decisão escolha conclusão 结论 判断 判决 裁决 选择 胜者 获胜者 赢家 判定 結論 勝者 選択",
    "2": "beide ambas les_deux las_dos as_duas 两个 两者 二者 両者 どちらも",
    "&": "und et y e 和 与 と",
    "": "die das der la le el o mi minha ein eine une un um à deutlich klar etwas eindeutig insgesamt viel nettement "
    "clairement légèrement bien claramente ligeramente mucho muito ligeiramente daher deshalb somit also donc ainsi "
    "globalement portanto logo assim endgültige finale final ich_finde meiner_meinung_nach je_pense_que à_mon_avis "
    "creo_que por_lo_tanto por_tanto en_resumen acho_que em_resumo 的 最终的な 最終的な 最终 我的 明显 略 稍微 总体 "
    "相对 因此 所以 综上所述 综上 总的来说 总之 我认为 我觉得 我选择 の方 のほう したがって よって 総合的に 明らかに "
    "やや",
}
_SIGNS: Final = {word.replace("_", " "): sign for sign, listed in _WORDS.items() for word in listed.split()}
_SPELT: Final = "|".join(
    rf"{re.escape(word)}(?![^\W\d_])" if "a" <= word[0] < "\u3000" else re.escape(word)
    for word in sorted(_SIGNS, key=len, reverse=True)
)
_TOKEN: Final = re.compile(
    rf"(?P<side>[AB])(?![A-Za-z])|(?P<word>(?i:{_SPELT})|a(?= ))|[\s,\"'()\[\]*_]+|(?P<unknown>.)"
)
_SIDE, _RIVAL, _LED = r"n?(?P<side>[AB])n?", r"n?[AB]n?", r"(?:[ln]\.)?"
_GRAMMAR: Final = (
    ("same", rf"{_LED}{_SIDE}\.*\+n?(?:>{_RIVAL})?\.*"),
    ("same", rf"{_LED}{_SIDE}!(?:>?{_RIVAL})?"),
    ("same", rf"{_LED}{_SIDE}(?:c{_RIVAL}|\.{_RIVAL}>)\+\.*"),
    ("same", rf"{_LED}{_RIVAL}>{_SIDE}\.*\+\.*"),
    ("same", rf"(?:l|\+?n\+?|\+)n?\.{_SIDE}\.*"),
    ("other", rf"{_LED}{_SIDE}(?:\.*-n?(?:>{_RIVAL})?\.*|~{_RIVAL})"),
    ("other", rf"-n?\.{_SIDE}\.*"),
    ("tie", rf"{_LED}(?:2n?|n|{_RIVAL}&{_RIVAL})?\.*=\.*(?P<side>)"),
)
_CUE: Final = re.compile(r"[-+=!~lc].*[AB]|[AB].*[-+=!~lc]|n\.n?[AB]")


def verdict_abroad(text: str) -> str | None:
    """Return the choice that a plainly written text in one of six languages states in plain sentences.

    All sentences that name a response beside a word for better, worse, winner or tie must have a form of the grammar
    and agree. So a text in which one is negated, conditional, asked or said by others has none.
    """
    said: set[str | None] = set()
    for sentence in re.split(r"(?<=[.!?;])\s+|\n+", text):
        signs = _TOKEN.sub(_sign, sentence.strip().rstrip(".! ")).partition("#")[0]
        signs = re.sub(r"\AA(?=\+?n[.AB])", "", signs)  # the article of "A resposta B"
        stated = [(kind, found["side"]) for kind, form in _GRAMMAR if (found := re.fullmatch(form, signs))]
        if stated:
            kind, side = stated[0]
            said.add({"same": side, "other": "AB".replace(side, ""), "tie": "tie"}[kind])
        elif _CUE.search(signs):
            said.add(None)
    return said.pop() if len(said) == 1 else None


def _sign(token: re.Match[str]) -> str:
    return token["side"] or ("?" if token["unknown"] else _SIGNS.get((token["word"] or "").lower(), ""))
