from mrb_lib.tables.schema import DEPARTMENTS, ORGAN_DEPARTMENT, ORGANS


def test_the_vocabularies_have_the_published_sizes() -> None:
    assert len(ORGANS) == 13
    assert len(DEPARTMENTS) == 8
    assert set(ORGAN_DEPARTMENT.values()) == set(DEPARTMENTS)
