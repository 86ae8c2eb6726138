"""One test over many values, which names every value that fails."""


def over(values):
    """Makes a test of a check with one argument. It checks all `values`, and each failure is reported."""

    def decorate(check):
        def test(subtests):
            for value in values:
                with subtests.test(str(value)[:60]):
                    check(value)

        test.__doc__ = check.__doc__
        return test

    return decorate
