"""From a plan to a model that can be talked to: checked from headers first, then loaded, then given its contexts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from mtpchat.backend.llama.ballast import LlamaBallast
from mtpchat.backend.llama.context import ContextSettings
from mtpchat.backend.llama.devices import this_machine
from mtpchat.backend.llama.draft import LlamaDraft
from mtpchat.backend.llama.eagle3 import LlamaEagle3
from mtpchat.backend.llama.fit import Fitted, Fitting
from mtpchat.backend.llama.grammar import GrammarMaker
from mtpchat.backend.llama.last_words import catch_last_words
from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.llama.model import LlamaModel
from mtpchat.backend.llama.reported import compare
from mtpchat.backend.llama.rounding import displacement
from mtpchat.backend.llama.sampler import LlamaSampler
from mtpchat.backend.llama.states import LlamaStates, name_files
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.backend.llama.threads import physical_cores
from mtpchat.backend.llama.trial import COMMAND, Trial
from mtpchat.backend.protocol import LoadedModel, LoadPlan
from mtpchat.config import ModelConfig
from mtpchat.errors import DrafterError, LoadCancelled, ModelError, ModelUnsupported
from mtpchat.gguf.choice import DrafterChoice, choose_drafter
from mtpchat.gguf.facts import FileFacts, facts_of, read_model, require_chat
from mtpchat.gguf.memory_plan import FREE_DEPTH, MOST_SNAPSHOTS, Machine
from mtpchat.gguf.traps import require_loadable
from mtpchat.last_run import RunRecord
from mtpchat.shelf.search import DrafterSearch

_FLASH = {"auto": -1, "off": 0, "on": 1}
_CACHE_TYPES = {"f32": 0, "f16": 1, "bf16": 30, "q8_0": 8, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "iq4_nl": 20}
_WITH_CONTEXT = ("mtp", "eagle3", "draft")
"""Kinds of drafter that need a context of their own."""

Report = Callable[[str, float, int], None]
T = TypeVar("T")


@dataclass(slots=True)
class _Owned:
    """Native objects in the order they were made; closed in the reverse."""

    things: list[Any] = field(default_factory=list)

    def add(self, thing: Any) -> Any:
        self.things.append(thing)
        return thing

    def close(self, kept: int = 0) -> None:
        """Close all but the first so many."""
        while len(self.things) > kept:
            self.things.pop().close()


class LlamaBackend:
    """The Backend of the protocol.

    Args:
        log_path: where llama.cpp's log goes; None keeps it in memory only.
        log_level: "debug", "info", "warn" or "error".
        trial_command: how the process is started in which an unknown drafter is tried.
        machine: what memory is free at a load.
        record: told which files are in use, and what the library says when it ends the process.
    """

    def __init__(
        self,
        log_path: Path | None = None,
        log_level: str = "info",
        trial_command: Sequence[str] = COMMAND,
        machine: Callable[[], Machine] = this_machine,
        record: RunRecord | None = None,
    ) -> None:
        import llama_cpp.llama_cpp as lib

        self._lib = lib
        self._log = LlamaLog(log_path, log_level)
        self._log.install()
        self._trial = Trial(self._log, trial_command)
        self._fitting = Fitting(machine)
        self._record = record
        catch_last_words(self._dying)
        lib.llama_backend_init()

    def load(self, plan: LoadPlan, progress: Report, cancelled: Callable[[], bool]) -> LoadedModel:
        """See Backend.load."""
        if not plan.model:
            raise ModelError("No model was named.", hint="Start with -m MODEL.gguf, or --demo, or type /model PATH.")
        header = read_model(Path(plan.model).expanduser())
        facts = facts_of(header)
        require_chat(facts)
        require_loadable(header, facts)
        choice = choose_drafter(header, plan.kind, plan.drafter, DrafterSearch(plan.config).companions)
        if cancelled():
            raise LoadCancelled(f"Loading {facts.path.name} was cancelled.")
        fitted = self._fitting.settle(header, choice, plan)
        while True:
            try:
                return self._load(facts, fitted, progress, cancelled)
            except ModelError as error:
                fitted = self._fitting.shrink(fitted, error)

    def _load(self, facts: FileFacts, fitted: Fitted, progress: Report, cancelled: Callable[[], bool]) -> LoadedModel:
        plan, choice, owned = fitted.plan, fitted.choice, _Owned()
        try:
            warnings = [*choice.warnings, *fitted.sentences]
            loading = _Loading(self._log, plan, facts, choice, owned, progress, cancelled, fitted.gpu_layers, warnings)
            if choice.kind in _WITH_CONTEXT:
                progress("a trial of the drafter", 0.0, 0)
                # The child need not find again what was found here.
                named = replace(plan, drafter=str(choice.path)) if choice.path else plan
                loading.attempt(lambda: self._trial.require(named, facts, choice, cancelled))
            if loading.choice.kind not in _WITH_CONTEXT:
                progress("a trial of the model", 0.0, 0)
                self._trial.require_model(plan, facts, cancelled)
            self._log.buffers.clear()
            if self._record is not None:
                used = loading.choice
                owned.add(self._record.uses(str(facts.path), str(used.path or ""), used.kind))
            loaded = loading.run()
            self._log.note(f"mtpchat: memory {compare(fitted.memory, self._log.buffers)}", "info")
            return loaded
        except BaseException:
            owned.close()
            raise

    def _dying(self, words: str) -> None:
        """Runs on the thread that failed, as the last thing that this process does in Python."""
        if self._record is not None:
            self._record.say(words)
        else:
            os.write(2, f"llama.cpp ends the program: {words}\n".encode("utf-8", "replace"))
        self._log.note(f"mtpchat: llama.cpp ends the program: {words}", "error")

    def close(self) -> None:
        """See Backend.close."""
        self._lib.llama_backend_free()


@dataclass(slots=True)
class _Loading:
    """One load in progress."""

    log: LlamaLog
    plan: LoadPlan
    facts: FileFacts
    choice: DrafterChoice
    owned: _Owned
    progress: Report
    cancelled: Callable[[], bool]
    gpu_layers: int
    warnings: list[str] = field(default_factory=list)

    def run(self) -> LoadedModel:
        """Model, target context, then the drafter; a drafter that fails is replaced by n-gram, in words."""
        own_heads = self.choice.kind == "mtp" and self.choice.path is None
        model = self._weights(self.facts, self.gpu_layers, load_mtp=own_heads)
        if not model.can_chat:
            raise ModelUnsupported(
                f"{self.facts.path.name} cannot write text token by token.", hint="Name a chat model."
            )
        target = self.owned.add(LlamaTarget(model, self._target_settings(model), self.log))
        draft, made = self._drafter(model, target), target.settings
        return LoadedModel(
            name=self.facts.known_as,
            path=str(self.facts.path),
            architecture=self.facts.architecture,
            target=target,
            tokenizer=model.vocab,
            chat_template=self.facts.chat_template,
            make_sampler=lambda sampling, seed: LlamaSampler(sampling, seed, model.vocab.n_vocab),
            make_grammar=GrammarMaker(model.vocab),
            make_masked=lambda sampling, seed, mask: LlamaSampler(sampling, seed, model.vocab.n_vocab, mask),
            close=self.owned.close,
            draft=draft,
            draft_kind=self.choice.kind if draft is not None else "",
            drafter_path=str(self.choice.path or "") if draft is not None else "",
            choice=self.choice.sentence,
            fallback_reason=self.choice.reason,
            suggestion=self.choice.suggestion,
            warnings=tuple(self.warnings),
            gpu_layers=self.gpu_layers,
            ballast=self._ballast(model, target, draft),
            states=self._states(model, target, draft),
            rounding=lambda: displacement([self.facts.path], self.gpu_layers, model, made, self.log),
        )

    def _states(self, model: LlamaModel, target: LlamaTarget, draft: LlamaDraft | None) -> LlamaStates:
        kind = self.choice.kind if draft is not None else ""
        named = name_files(
            model, self.gpu_layers, self.choice.path, kind, self.plan.config.speculative.drafter_gpu_layers
        )
        return LlamaStates(model, target, draft, *named)

    def _ballast(self, model: LlamaModel, target: LlamaTarget, draft: LlamaDraft | None) -> LlamaBallast | None:
        layers = draft.layers if draft is not None else ()
        if not (target.snapshots or target.settings.hidden_rows or layers):
            return None
        files = [self.facts.path, *([self.choice.path] if layers and self.choice.path else [])]
        return LlamaBallast(
            model, target, draft, files, self.gpu_layers, self.log, target.settings, target.snapshots, layers
        )

    def _weights(self, facts: FileFacts, gpu_layers: int, *, load_mtp: bool) -> LlamaModel:
        def report(fraction: float) -> bool:
            self.progress(facts.path.name, fraction, facts.size)
            return not self.cancelled()

        mmap = self.plan.config.model.mmap
        model = LlamaModel(
            facts.path,
            gpu_layers=gpu_layers,
            load_mtp=load_mtp,
            mmap=mmap,
            progress=report,
            log=self.log,
            overrides=() if load_mtp else facts.overrides,
        )
        self.owned.add(model)
        return model

    def _target_settings(self, model: LlamaModel) -> ContextSettings:
        settings, speculative = self.plan.config.model, self.plan.config.speculative
        depth = max(speculative.draft_max, speculative.depth_cap) if self.choice.kind != "none" else 0
        if model.recurrent:
            depth = min(depth, MOST_SNAPSHOTS)
        batch = max(settings.batch, depth + 2)
        return ContextSettings(
            context=self._context(model),
            batch=batch,
            threads=settings.threads or physical_cores(),
            snapshots=depth if model.recurrent and self.facts.snapshots else 0,
            max_rows=1 + (depth if model.recurrent else max(depth, FREE_DEPTH)),
            hidden_rows=self.choice.kind == "mtp",
            flash_attention=_FLASH.get(settings.flash_attention, -1),
            cache_type_k=_CACHE_TYPES.get(settings.cache_type_k, 1),
            cache_type_v=_CACHE_TYPES.get(settings.cache_type_v, 1),
            copies=speculative.checkpoint_rollback if depth else "off",
            whole_steps=speculative.strict,
        )

    def _context(self, model: LlamaModel) -> int:
        wanted, trained = self.plan.config.model.context, model.trained_context
        if not trained:
            return wanted or 4096
        if wanted == 0:
            return trained
        if wanted > trained and wanted != ModelConfig().context:
            self.warnings.append(
                f"{self.facts.known_as} was trained for a context of {trained:,} tokens; {wanted:,} was cut to that."
            )
        return min(wanted, trained)

    def _drafter(self, model: LlamaModel, target: LlamaTarget) -> LlamaDraft | None:
        if self.choice.kind not in _WITH_CONTEXT:
            return None
        return self.attempt(lambda: self._make_drafter(model, target))

    def attempt(self, act: Callable[[], T]) -> T | None:
        """Do something that the drafter needs; if it cannot be had n-gram guesses instead."""
        before = len(self.owned.things)
        try:
            return act()
        except LoadCancelled:
            raise
        except (ModelError, DrafterError) as error:
            self.owned.close(before)  # the weights of a drafter without a context would only take memory
            reason = error.message.rstrip(".")
            self.choice = DrafterChoice(
                "ngram", sentence=f"n-gram guesses from earlier text, because {reason}", reason=reason
            )
            return None

    def _make_drafter(self, model: LlamaModel, target: LlamaTarget) -> LlamaDraft:
        speculative, settings = self.plan.config.speculative, self.plan.config.model
        is_head = self.choice.kind == "mtp"
        weights = model
        if self.choice.facts is not None:
            weights = self._weights(self.choice.facts, speculative.drafter_gpu_layers, load_mtp=is_head)
        context = ContextSettings(
            context=target.capabilities.context,
            batch=target.capabilities.batch,
            threads=settings.threads or physical_cores(),
            flash_attention=_FLASH.get(settings.flash_attention, -1),
        )
        draft: LlamaDraft
        if self.choice.kind == "eagle3":
            draft = LlamaEagle3(weights, context, self.log, target)
        else:
            draft = LlamaDraft(weights, context, self.log, target if is_head else None)
        self.owned.add(draft)
        return draft
