"""Verdicts in Chinese, German, French, Spanish, Portuguese and Japanese, where a sentence says nothing besides."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

NOUNS_APART: Final = "antwort respuesta réponse resposta"
"""Words for a response, with a space between them and its letter."""
NOUNS_JOINED: Final = "回答 答案 回复 回覆 答复 應答"
TIES_ABROAD: Final = "平局 平手 unentschieden gleichstand égalité empate 引き分け"


class _Language(NamedTuple):
    """Words of one language, as alternatives of a regular expression.

    `lead` may begin a sentence, `better` follows a response and its verb, `worse` too, `than` precedes the other one,
    `because` a reason, `label` a response alone, `tie` is what a sentence without a response says.
    """

    lead: str
    better: str
    worse: str
    than: str
    because: str
    label: str
    tie: str


_LATIN: Final = (
    _Language(
        r"daher|deshalb|somit|insgesamt|also|fazit|ich finde|ich denke|meiner meinung nach|zusammenfassend",
        r"(?:ist|war) (?:insgesamt |deutlich |klar |etwas |eindeutig |viel |die )*"
        r"(?:besser|beste|bessere|bessere antwort|überlegen)|gewinnt|schneidet besser ab",
        r"ist (?:insgesamt |deutlich |klar |etwas )*(?:schlechter|unterlegen)",
        r"als",
        r"weil|da|denn",
        r"(?:die |das |der )?(?:endgültige |finale |bessere |beste )?(?:antwort|urteil|entscheidung|ergebnis|gewinner"
        r"|gewinnerin|sieger|wahl)",
        r"(?:(?:beide|die)(?: antworten)? sind |{both} sind |es ist |das ist )?(?:ein )?"
        r"(?:unentschieden|gleichstand|gleich gut|gleichwertig)",
    ),
    _Language(
        r"donc|ainsi|globalement|en conclusion|je pense que|à mon avis|au final|conclusion",
        r"est (?:globalement |nettement |clairement |légèrement |bien |la )*"
        r"(?:meilleure?|meilleure réponse|supérieure?|préférable)|l'emporte|gagne",
        r"est (?:globalement |nettement |clairement |légèrement |la )*(?:pire|inférieure?|moins bonne)",
        r"que|à|sur",
        r"car|parce que|puisque",
        r"(?:la |le |ma )?(?:meilleure )?(?:réponse|verdict|gagnante?|vainqueur|décision|choix)(?: finale?)?",
        r"(?:(?:les deux(?: réponses)?|elles|{both}) sont |c'est |il y a )?(?:une |un |à )?"
        r"(?:égalité|match nul|équivalentes|aussi bonnes l'une que l'autre)",
    ),
    _Language(
        r"por lo tanto|por tanto|en general|en conclusión|creo que|en resumen|así que|conclusión",
        r"es (?:claramente |ligeramente |mucho |la )*(?:mejor|mejor respuesta|superior|preferible)|gana",
        r"es (?:claramente |ligeramente |la )*(?:peor|inferior)",
        r"que|a",
        r"porque|ya que|pues",
        r"(?:la |el |mi )?(?:mejor )?(?:respuesta|veredicto|ganadora?|decisión|elección)(?: final)?",
        r"(?:(?:ambas|las dos)(?: respuestas)? son |{both} son |es |hay )?(?:un )?"
        r"(?:empate|igual de buenas|igualmente buenas|equivalentes)",
    ),
    _Language(
        r"portanto|logo|no geral|em geral|em conclusão|acho que|em resumo|assim|conclusão",
        r"é (?:claramente |ligeiramente |muito |a )*(?:melhor|melhor resposta|superior|preferível)|vence|ganha",
        r"é (?:claramente |ligeiramente |a )*(?:pior|inferior)",
        r"do que|que|à|a",
        r"porque|pois|já que",
        r"(?:a |o |minha )?(?:melhor )?(?:resposta|veredicto|veredito|vencedora?|decisão|escolha)(?: final)?",
        r"(?:(?:ambas|as duas)(?: respostas)? são |{both} são |é |há )?(?:um )?"
        r"(?:empate|igualmente boas|equivalentes)",
    ),
)
_CHINESE: Final = _Language(
    r"因此|所以|综上(?:所述)?|总(?:的来说|之|体而言|体来看)|最终|我认为|我觉得|结论",
    r"(?:明显|显然|略|稍微?|总体|相对|整体|是|要)*(?:更好|更优|更佳|较好|较优|最好|最佳|胜出|获胜|更胜一筹)(?:的(?:回答|答案))?",
    r"(?:明显|略|稍微?|总体)*(?:更差|较差)",
    r"比",
    r"因为|由于",
    r"(?:我的)?(?:最终|更好的|较好的|最佳的?|更优的)?(?:回答|答案|结论|判断|判决|裁决|选择|胜者|获胜者|赢家|评判结果)",
    r"(?:这是|两者|二者|两个(?:回答|答案)|{both})?(?:是|为|打成)?(?:平局|平手|不分上下|不相上下|同样好|一样好)",
)
_JAPANESE: Final = _Language(
    r"したがって|よって|総合的に|結論として|結論|全体として",
    r"(?:の(?:方|ほう))?(?:が|は)(?:より|明らかに|やや)*(?:優れて(?:いる|います)|良い|よい|いい|優秀|勝ち|勝者)",
    r"(?:の(?:方|ほう))?(?:が|は)(?:より|明らかに|やや)*(?:劣って(?:いる|います)|悪い)",
    r"より(?:も)?",
    r"なぜなら",
    r"(?:最終的な|より良い|優れている|優れた|最良の)?(?:回答|答え|判定|結論|勝者|選択|決定)",
    r"(?:両者は|両方とも|どちらも|{both}は)?(?:引き分け|同等|互角)",
)


def _latin_forms(one: _Language) -> list[tuple[str, str]]:
    side = rf"(?:(?:die|la|a) )?(?:{NOUNS_APART.replace(' ', '|')})? ?[\"'(\[]?(?P<side>[AB])[\"')\]]?"
    rival = r"(?:(?:die|la|a) )?(?:\w+ )?[\"'(\[]?[AB][\"')\]]?"
    lead = rf"(?:(?:{one.lead})[,:]? )?"
    end = rf"(?: (?:{one.than}) {rival})?(?:,? (?:{one.because}) .*)?"
    both = r"(?:\w+ )?A (?:und|et|y|e) (?:\w+ )?B"
    return [
        ("same", rf"{lead}{side} (?:{one.better}){end}"),
        ("other", rf"{lead}{side} (?:{one.worse}){end}"),
        ("same", rf"{lead}(?:{one.label})(?: ?:| (?:ist|est|es|é)) {side}{end}"),
        ("tie", rf"{lead}(?:{one.tie.replace('{both}', both)})(?:,? (?:{one.because}) .*)?"),
    ]


def _joined_forms(one: _Language) -> list[tuple[str, str]]:
    noun = rf"(?:{NOUNS_JOINED.replace(' ', '|')})"
    side, rival = rf"{noun}? ?(?P<side>[AB])(?:的{noun})?", rf"{noun}? ?[AB](?:的{noun})?"
    lead, reason = rf"(?:(?:{one.lead})(?:は)?[,:]? ?)?", rf"(?:,? ?(?:{one.because}).*)?"
    is_named, ends = r"(?: ?: ?|是|为|為|は)", r"(?:です|だ|である)?"
    than = rf"(?:{one.than}{rival})?" if one is _CHINESE else rf"(?:は{rival}{one.than})?"
    before = "" if one is _CHINESE else rf"(?:{rival}{one.than})?"
    return [
        ("same", rf"{lead}{before}{side}{than}(?:{one.better}){ends}{reason}"),
        ("same", rf"{lead}{side}(?:优于|好于|胜过){rival}{reason}"),
        ("other", rf"{lead}{side}(?:{one.worse}|不如{rival}|比{rival}差){ends}{reason}"),
        ("same", rf"{lead}(?:{one.label}){is_named}{side}{ends}{reason}"),
        ("tie", rf"{lead}(?:{one.tie.replace('{both}', f'{rival}(?:和|与|と){rival}')}){ends}{reason}"),
    ]


_FORMS: Final = [
    (kind, re.compile(form, re.IGNORECASE))
    for forms in (*map(_latin_forms, _LATIN), _joined_forms(_CHINESE), _joined_forms(_JAPANESE))
    for kind, form in forms
]
_VERDICT_WORDS: Final = re.compile(
    r"(?i)bess|best|schlecht|gewinn|unentschieden|gleich|überlegen|unterlegen|meilleur|pire|supérieur|inférieur|gagn"
    r"|égal|équival|préfér|mejor|peor|superior|inferior|gana|empate|igual|melhor|pior|vence|ganh|preferív|equival"
    r"|[好优佳差胜赢劣悪良勝优]|平局|平手|不分|不相|優|引き分け|同等|互角|\b(?:antwort|réponse|respuesta|resposta)\W+[AB]\b|答案|回答"
)


def verdict_abroad(text: str) -> str | None:
    """Return the choice that a plainly written text in one of six languages states in plain sentences.

    Every sentence that names a response beside words for better, worse, winner or tie must have one of the forms above,
    and all must agree; otherwise None, as also for what is negated, conditional, asked or said by others.
    """
    said: set[str | None] = set()
    for sentence in re.split(r"(?<=[.!?;。！？])\s*|\n+", re.sub(r"[*_`#]+", "", text)):
        bare = " ".join(sentence.split()).strip("\"'.,;!- 。！")
        found = next(((kind, form) for kind, one in _FORMS if (form := one.fullmatch(bare))), None)
        if found is not None:
            kind, match = found
            side = match["side"].upper() if kind != "tie" else ""
            said.add({"same": side, "other": "AB".replace(side, ""), "tie": "tie"}[kind])
        elif _VERDICT_WORDS.search(bare) and re.search(r"(?<![A-Za-z])[AB](?![A-Za-z])", bare):
            said.add(None)
    return said.pop() if len(said) == 1 else None
