"""Matches as Inspect's eval logs. Needs the optional extra `inspect`; imported by nothing else than inspect_log."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pandas as pd
from inspect_ai.event import ModelEvent
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    write_eval_log,
)
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    StopReason,
)
from inspect_ai.scorer import SampleScore, Score, mean, stderr

from agon.bridges.rows import OF_MATCH, Line, Recorded, Rows, by_match, seats, totals
from agon.errors import AgonError
from agon.models.ends import Ended, ended_of
from agon.paths import shown

STOPS: dict[Ended, StopReason] = {"length": "max_tokens", "filter": "content_filter"}
"""Why an answer ended: agon's words and Inspect's; every other one is a stop."""


def write(turns: pd.DataFrame, file: Path, recording: Path | None = None) -> list[Path]:
    """One log per model: `file` itself, or files beside it with the model's name where there are several.

    A sample is one match as one seat with a model played it. Its messages are the conversation in `recording`, the
    folder of the experiment's exchanges, and its events the calls; where these are not all there, the messages are what
    was answered, under questions that say so. The scores are total points, and the shares of turns that are
    valid and cut off. Raises AgonError.
    """
    recorded, played = Recorded(recording), defaultdict(list)
    for rows in by_match(turns):
        for seat, row in seats(rows).items():
            if row["model"] is not None:
                played[row["model"]].append((rows, seat))
    if not played:
        raise AgonError("no seat of these matches has a model: there is nothing for Inspect; format=jsonl takes them")
    names = [re.sub("[^A-Za-z0-9._]+", "-", model).strip("-") for model in played]
    paths = [file] if len(played) == 1 else [file.with_stem(f"{file.stem}-{name}") for name in names]
    if len(set(paths)) < len(paths):
        raise AgonError(f"two models would have the same file beside {shown(file)}: {', '.join(played)}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        for path, (model, of_model) in zip(paths, played.items(), strict=True):
            log = _log(model, [_sample(rows, seat, recorded) for rows, seat in of_model], recorded)
            write_eval_log(log, str(path))
    except OSError as error:
        raise AgonError(f"{shown(file)} cannot be written: {error.strerror or error}") from None
    return paths


def _sample(rows: Rows, seat: int, recorded: Recorded) -> EvalSample:
    own = [row for row in rows if row["seat"] == seat]
    first, points, exchanges = own[0], totals(rows), recorded.exchanges(own[0])
    taken = {row["exchange"] for row in own} - {None}
    whole = taken <= {line.exchange for line in exchanges}
    calls = _calls(first["model"], exchanges, taken, recorded) if whole else []
    main = [call for call in calls if call.uuid in taken or call.error]
    messages = _conversation(main) if main else _rebuilt(own)
    answers = [place for place, message in enumerate(messages) if message.role == "assistant"]
    actions = ["none" if row["action"] is None else _shown(row["action"]) for row in own if row["asked"]]
    others = [row for other, row in seats(rows).items() if other != seat]
    return EvalSample(
        id=f"{first['match']}-{seat}",
        epoch=1,
        input=messages[: answers[0]] if answers else messages,
        target="",
        messages=messages,
        output=main[-1].output if main else ModelOutput(model=first["model"]),
        scores={
            "points": Score(value=points[seat]["points"], answer=", ".join(actions)),
            "valid": Score(value=points[seat]["valid"]),
            "cut_off": Score(value=points[seat]["cut_off"]),
        },
        metadata={name: first[name] for name in (*OF_MATCH, "seat", "role", "agent")}
        | {
            "rounds": own[-1]["round"],
            "opponents": ", ".join(_player(row) for row in others),
            "opponents_points": [points[row["seat"]]["points"] for row in others],
            "conversation": "recorded" if main else "rebuilt from the turns",
        },
        events=[*calls],
        model_usage=_usage(own, exchanges),
        started_at=_time(min(line.sent for line in exchanges)).isoformat() if exchanges else None,
        completed_at=_time(max(line.time for line in exchanges)).isoformat() if exchanges else None,
        working_time=_sum(own, "seconds"),
    )


def _player(row: Mapping[str, Any]) -> str:
    """As experiments write it: agent, or agent@model."""
    return row["agent"] if row["model"] is None else f"{row['agent']}@{row['model']}"


def _shown(action: Any) -> str:
    return action if isinstance(action, str) else json.dumps(action)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _calls(model: str, exchanges: Sequence[Line], taken: Set[str], recorded: Recorded) -> list[ModelEvent]:
    """Every recorded call of one seat, those whose answers were not taken (other votes, wrong answers) included."""
    answers = {line.exchange: _answer(line) for line in exchanges}
    exchange_of = {line.answer: line.exchange for line in sorted(exchanges, key=lambda line: line.exchange in taken)}
    others: dict[str, ChatMessage] = {}

    def said(line: Line) -> ChatMessage:
        if line.message in exchange_of:
            return answers[exchange_of[line.message]]
        if line.message not in others:
            others[line.message] = _message(line, exchanges[0])
        return others[line.message]

    start = min((line.sent for line in exchanges), default=0.0)
    return [
        ModelEvent(
            uuid=line.exchange,
            timestamp=_time(line.sent),
            working_start=line.sent - start,
            completed=_time(line.time),
            working_time=line.seconds,
            model=model,
            config=GenerateConfig(**_known(line.parameters)),
            input=[said(each) for each in recorded.conversation(line.asked)],
            tools=[],
            tool_choice="none",
            output=ModelOutput(
                model=line.model,
                choices=[]
                if line.void
                else [
                    ChatCompletionChoice(
                        message=answers[line.exchange], stop_reason=STOPS.get(ended_of(line.stop), "stop")
                    )
                ],
                usage=_tokens(line.tokens_in, line.tokens_cached, line.tokens_out),
                time=line.seconds,
                error=line.void or None,
                response_id=line.id or None,
            ),
            error=line.void or None,
        )
        for line in exchanges
    ]


def _answer(line: Line) -> ChatMessageAssistant:
    """An exchange's answer, after what the model thought before it."""
    thought: list[Content] = [ContentReasoning(reasoning=line.thinking), ContentText(text=line.text)]
    content = thought if line.thinking else line.text
    return ChatMessageAssistant(id=line.exchange, content=content, source="generate", model=line.model)


def _message(line: Line, near: Line) -> ChatMessage:
    """A message that is no recorded answer; Inspect wants ids that no other sample has, so it is named with match and seat."""
    name = f"{near.sample.rpartition('/')[0].replace('/', '-')}-{line.message}"
    made = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}[line.role]
    return made(id=name, content=line.text)


def _known(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that Inspect has the same word for."""
    return {name: parameters[name] for name in ("temperature", "top_p", "max_tokens", "seed") if name in parameters}


def _conversation(events: Sequence[ModelEvent]) -> list[ChatMessage]:
    """All that was said in these calls, each message once."""
    told = [(*event.input, *(choice.message for choice in event.output.choices)) for event in events]
    return list({message.id: message for messages in told for message in messages}.values())


def _rebuilt(own: Rows) -> list[ChatMessage]:
    """The answers that the turns hold, or the actions; the questions say that they are not what was asked."""
    messages: list[ChatMessage] = []
    for row in own:
        if row["asked"]:
            name = f"{row['match']}-{row['seat']}-{row['turn']}"
            action = "(no readable action)" if row["action"] is None else _shown(row["action"])
            question = f"Round {row['round']}, {row['phase']} (the words of the question are not recorded)"
            messages += [
                ChatMessageUser(id=f"{name}-asked", content=question),
                ChatMessageAssistant(id=f"{name}-answer", content=row["reply"] or action, source="generate"),
            ]
    return messages


def _sum(rows: Rows, column: str) -> Any:
    """None where no row has a value."""
    values = [row[column] for row in rows if row[column] is not None]
    return sum(values) if values else None


def _usage(own: Rows, exchanges: Sequence[Line]) -> dict[str, ModelUsage]:
    """Tokens of all calls, by the model's name; recorded games of others know only the sum."""
    sent, received, total = (_sum(own, name) for name in ("tokens_in", "tokens_out", "tokens"))
    if total is None:
        return {}
    cached = sum(line.tokens_cached for line in exchanges)
    usage = _tokens(sent or 0, cached, received or 0).model_copy(update={"total_tokens": total})
    if not exchanges:
        usage.input_tokens_cache_read = None
    return {own[0]["model"]: usage}


def _tokens(sent: int, cached: int, received: int) -> ModelUsage:
    """Inspect counts cached input apart."""
    cached = min(sent, cached)
    return ModelUsage(
        input_tokens=sent - cached,
        output_tokens=received,
        total_tokens=sent + received,
        input_tokens_cache_read=cached,
    )


def _log(model: str, samples: list[EvalSample], recorded: Recorded) -> EvalLog:
    started = [sample.started_at for sample in samples if sample.started_at]
    ended = [sample.completed_at for sample in samples if sample.completed_at]
    usage = [sample.model_usage[model] for sample in samples if model in sample.model_usage]
    return EvalLog(
        status="success",
        eval=_spec(model, samples, recorded, max(ended, default=_time(0).isoformat())),
        results=EvalResults(
            total_samples=len(samples),
            completed_samples=len(samples),
            scores=[_score(name, samples) for name in ("points", "valid", "cut_off")],
        ),
        stats=EvalStats(
            started_at=min(started, default=""),
            completed_at=max(ended, default=""),
            model_usage={model: sum(usage, ModelUsage())} if usage else {},
        ),
        samples=samples,
    )


def _spec(model: str, samples: list[EvalSample], recorded: Recorded, created: str) -> EvalSpec:
    """What was evaluated. Ids are hashes of the matches; a log without a recording has no time, and says 1970."""
    task = ", ".join(dict.fromkeys(sample.metadata["experiment"] for sample in samples))
    names = [str(sample.id) for sample in samples]
    exchanges = (line for sample in samples for line in recorded.exchanges(sample.metadata))
    parameters = next(exchanges, Line()).parameters

    def of(*content: str) -> str:
        return blake2b("\n".join(content).encode(), digest_size=11).hexdigest()

    return EvalSpec(
        task=task,
        task_id=of(task),
        run_id=of(task, *names),
        eval_id=of(task, model, *names),
        created=created,
        dataset=EvalDataset(name=task, samples=len(samples), sample_ids=names, shuffled=False),
        model=model,
        model_generate_config=GenerateConfig(**_known(parameters)),
        model_args=parameters,
        config=EvalConfig(epochs=1),
    )


def _score(name: str, samples: list[EvalSample]) -> EvalScore:
    """Mean and standard error over samples; seats of one match are not independent, so matches are clusters."""
    scores = [
        SampleScore(score=sample.scores[name], sample_id=sample.id, sample_metadata=sample.metadata)
        for sample in samples
        if sample.scores
    ]
    metrics: dict[str, Any] = {"mean": mean(), "stderr": stderr(cluster="match")}
    return EvalScore(
        name=name,
        scorer=name,
        scored_samples=len(scores),
        unscored_samples=0,
        metrics={key: EvalMetric(name=key, value=metric(scores)) for key, metric in metrics.items()},
    )
