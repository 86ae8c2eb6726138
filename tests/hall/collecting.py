"""One test over many values, which names every value that fails."""


def over(values):
    """Makes a test of a check with one argument: all `values` are checked, and the failures are collected."""

    def decorate(check):
        def test():
            faults = []
            for value in values:
                try:
                    check(value)
                except AssertionError as error:
                    faults.append(f"{str(value)[:60]}: {error}")
            assert values and not faults, "\n".join(faults)

        test.__doc__ = check.__doc__
        return test

    return decorate
