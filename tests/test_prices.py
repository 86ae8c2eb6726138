"""Prices of conf/model beside a kept list (the package genai-prices). `make prices` says what differs, and of what day the list is."""

from datetime import UTC, datetime
from importlib.metadata import version

import pytest

from agon.conf import load, names
from agon.models.remote import Remote

PRICED = [name for name in names("model") if any((load("model", name).price or {}).values())]
NONE = {"input": {"input_tokens": 1000}, "output": {"output_tokens": 1000}, "cached": {"input_tokens": 1000, "cache_read_tokens": 1000},
        "written": {"input_tokens": 1000, "cache_write_tokens": 1000}}  # fmt: skip


def list_prices(model):
    """USD per million tokens by the list, at the dearest hour of today; None where it does not know the model."""
    import genai_prices as prices

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


def test_prices_are_those_of_the_list():
    pytest.importorskip("genai_prices", reason="prices are not compared: pip install genai-prices")
    faults, checks = [], 0
    for name in PRICED:
        model = load("model", name)
        theirs = list_prices(model) or {}
        for kind, price in model.price.items():
            if price is None or kind not in theirs:
                continue
            checks += 1
            if price != pytest.approx(theirs[kind]):
                faults.append(f"conf/model/{name}.yaml, {kind}: {price} on {model.priced}, {theirs[kind]} in the list")
    assert checks and faults == [], f"genai-prices {version('genai-prices')}"


def test_every_price_has_its_date():
    models = {name: load("model", name) for name in PRICED}
    assert [name for name, model in models.items() if not (isinstance(model, Remote) and model.priced)] == []
