"""Prices of conf/model beside a kept list (the package genai-prices). `make prices` says what differs, and of what day the list is."""

from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import pytest

from agon.conf import load, names
from agon.models.remote import Remote

PRICED = [name for name in names("model") if any((load("model", name).price or {}).values())]
NONE = {"input": {"input_tokens": 1000}, "output": {"output_tokens": 1000}, "cached": {"input_tokens": 1000, "cache_read_tokens": 1000},
        "written": {"input_tokens": 1000, "cache_write_tokens": 1000}}  # fmt: skip


def listed(model):
    """USD per million tokens by the list, at the dearest hour of today; None where it does not know the model."""
    prices = pytest.importorskip("genai_prices", reason="prices are not compared: pip install genai-prices")
    where = (
        {"provider_id": "aws"}
        if getattr(model, "bedrock", False)
        else {"provider_api_url": model.base_url or f"https://api.{model.sdk}.com"}
    )
    today = datetime.now(UTC)
    try:
        return {
            name: max(
                float(
                    prices.calc_price(
                        prices.Usage(**usage), model.model, genai_request_timestamp=today.replace(hour=hour), **where
                    ).total_price
                )
                * 1000
                for hour in range(24)
            )
            for name, usage in NONE.items()
        }
    except LookupError:
        return None


@pytest.mark.parametrize("name", PRICED)
def test_a_price_is_that_of_the_list(name, record_property):
    model = load("model", name)
    known = listed(model)
    if known is None:
        pytest.skip(f"{name} ({model.model}) is not in the list")
    own = {each: value for each, value in model.price.items() if value is not None}
    try:
        of = f"genai-prices {version('genai-prices')}"
    except PackageNotFoundError:
        of = "genai-prices"
    differ = {each: (value, known[each]) for each, value in own.items() if value != pytest.approx(known[each])}
    assert not differ, f"conf/model/{name}.yaml (priced {model.priced}), list ({of}): {differ} (ours, theirs)"


@pytest.mark.parametrize("name", PRICED)
def test_a_price_says_when_it_was_one(name):
    assert isinstance(load("model", name), Remote) and load("model", name).priced
