"""Verdicts, ties and refusals in other languages are read where they are plain, and never guessed."""

# ruff: noqa: RUF001  (the punctuation of the languages)

import pytest

from mrb_lib.replies.answers import read_answer
from mrb_lib.replies.reading import parse

from .grouped import grouped

READ = grouped({
    "B": [
        "答案：B", "最终答案：B", "结论：回答B更好", "我认为回答B更好，因为它更准确。", "B比A更好",
        "回答A不如回答B",
        "Antwort B ist besser.", "Urteil: Antwort B", "Die bessere Antwort ist B.", "Antwort A ist schlechter.",
        "Antwort B ist besser als Antwort A, weil sie den Befund nennt.", "Gewinner: B",
        "La respuesta B es mejor.", "La mejor respuesta es la B.", "Ganador: B", "La respuesta A es peor.",
        "La réponse B est meilleure.", "Réponse finale : B", "La réponse A est pire que la réponse B.",
        "A resposta B é melhor.", "A melhor resposta é a B.", "Vencedor: B",
        "回答Bの方が優れている", "回答Aより回答Bの方が良いです", "勝者：B", '{"overall": "回答B"}',
    ],
    "A": ["回答A更好", "A resposta A é melhor", "La respuesta A es mejor", "Antwort A gewinnt."],
    "tie": [
        "平局", "两个回答不相上下", "Es ist ein Unentschieden.", "Empate.", "引き分けです", '{"overall": "empate"}',
        "Beide Antworten sind gleich gut.", "Las dos respuestas son igual de buenas", "A和B一样好",
    ],
    None: [  # negated, asked, or said by others
        "Antwort B ist nicht besser.", "Antwort B ist kaum besser.", "Antwort B ist besser geschrieben.",
        "Antwort B wäre besser, wenn sie kürzer wäre.", "Manche sagen, Antwort B ist besser.",
        "Die Behauptung, Antwort B ist besser, ist falsch.", "Antwort A ist besser. Falsch: Antwort B ist besser.",
        "Ist Antwort B besser?", "Es ist kein Unentschieden.", "回答B并不比回答A更好", "回答A更好。不对，答案是B。",
        "如果回答A更短，回答B更好", "回答B更好吗？", "不是平局", "正确答案是B", "La respuesta B no es mejor.",
        "Ni la respuesta A ni la B es mejor", "La réponse B n'est pas meilleure",
        "La réponse A est meilleure ? Non.", "A resposta B não é melhor", "回答Bの方が優れていない",
        "回答Bの方が優れているとは言えない",
    ],
})  # fmt: skip


def test_a_plain_verdict_is_read_and_none_is_guessed() -> None:
    assert {reply: parse(reply, ["overall"]).choices["overall"] for reply, _ in READ} == dict(READ)


def test_several_dimensions_are_not_answered_by_a_sentence_on_none() -> None:
    assert set(parse("回答B更好", ["accuracy", "overall"]).choices.values()) == {None}


@pytest.mark.parametrize(
    "reply",
    [
        "Tut mir leid, ich kann keine Röntgenbilder beurteilen.", "Lo siento, no puedo evaluar estas imágenes.",
        "Je suis désolé, je ne peux pas évaluer ces images.", "Desculpe, não posso avaliar imagens médicas.",
        "申し訳ありませんが、画像を評価することはできません。", "很抱歉，我无法评估医学图像。",
    ],
)  # fmt: skip
def test_refusals_are_refused(reply: str) -> None:
    assert parse(reply, ["overall"]).status == read_answer(reply).status == "refused"
