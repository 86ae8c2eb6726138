"""The search for counts behind printed numbers, on made-up ones."""

from agon_papers.magic.granularity import as_printed, counted, sizes, summed


def test_a_printed_number_is_read_exactly():
    for text, filled, number, digits in [
        ("9.50", False, 95, 1),
        ("9.50", True, 950, 2),
        ("0.0", False, 0, 1),
        ("52.0", False, 520, 1),
        ("90", False, 900, 1),
        ("6.57", True, 657, 2),
    ]:
        assert as_printed(text, filled) == (number, digits)


def test_a_number_fits_when_a_count_rounds_to_it():
    for text, n, fits in [
        ("53.7", 80, True),
        ("53.8", 80, True),
        ("53.9", 80, False),  # 43 / 80 is 53.75: half may round either way
        ("38.5", 21, False),
        ("38.5", 13, True),
        ("33.4", 21, False),
        ("33.3", 21, True),
        ("100.0", 7, True),
        ("0.0", 7, True),
    ]:
        assert counted(n, "").fits(as_printed(text)) is fits


def test_all_counts_fit_their_own_size():
    assert all(counted(n, "").fits(as_printed(f"{100 * k / n:.1f}")) for n in (21, 40, 210, 300) for k in range(n + 1))


def test_the_sizes_that_give_a_number():
    assert sizes(as_printed("38.5"), 60) == [13, 26, 39, 52]
    assert sizes(as_printed("50.0"), 6) == [2, 4, 6]


def test_sizes_common_to_several_numbers():
    assert set(sizes(as_printed("33.3"), 60)) & set(sizes(as_printed("42.9"), 60)) == {21, 42}


def test_chance_counts_the_printable_values():
    assert counted(21, "").chance(1) == 22 / 1001
    assert counted(1000, "").chance(1) == 1


def test_sums_hold_every_pair():
    found = summed("", (range(3), 2), (range(4), 3))
    assert found.denominator == 6 and sorted(found.numerators) == sorted(
        {3 * a + 2 * b for a in range(3) for b in range(4)}
    )


def test_how_a_number_was_cut_is_said():
    definition = counted(21, "")
    assert [definition.how(as_printed(text)) for text in ("42.9", "42.8", "33.4", "45.0")] == [
        "rounded",
        "cut off",
        "rounded up",
        "",
    ]
