from culture.ctl.up.processes import descendants


def test_descendants_are_found_at_any_depth_and_others_are_not():
    parent_of = {1: 0, 10: 1, 11: 10, 12: 11, 20: 1, 13: 12}

    assert descendants(10, parent_of) == {11, 12, 13}
    assert descendants(20, parent_of) == set()
