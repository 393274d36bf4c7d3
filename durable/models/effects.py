"""Effects, the sealed payloads that people may have erased, and the ledger that nobody may change."""

from __future__ import annotations

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q

from durable.models.fields import Clock, one_of, state_field
from durable.models.runs import Run
from durable.states import COURSE, EffectClass, EffectState

#: Which events are acts, by whatever name an act has; and which of those nobody in particular did: Interlock, or a
#: worker, who signs with host and process.
ACTS = ~Q(kind__in=sorted(kind.value for kind in COURSE))
BY_MACHINE = Q(actor="interlock") | Q(actor__contains=":")


class SealKey(models.Model):
    """The key under which a run's personal data is sealed, itself wrapped. Destroying it erases that data."""

    run = models.OneToOneField(Run, models.CASCADE, related_name="seal_key")
    wrapped = models.BinaryField(null=True)
    destroyed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["run"], name="seal_key_kept", condition=Q(wrapped__isnull=False))]

    def __str__(self) -> str:
        return f"seal key of run {self.run_id}"


class Sealed(models.Model):
    """Personal data standing apart from what can't change: payloads, receipts, facts, people's words."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="sealed", db_index=False)
    digest = models.TextField()
    box = models.BinaryField()
    at = models.DateTimeField(db_default=Clock())

    def __str__(self) -> str:
        return f"sealed {self.digest[:12]}"


class Effect(models.Model):
    """One call of a tool that touches the outside world; the state that its ledger events add up to.

    `digest_asked` is what the step asked for, `digest` what people let out (they differ after an edit). `open_sends`
    counts requests whose fate is unknown. `facts` is what held when it was drafted, `said` what the agent said in the
    asking step, unproven, `words` what a reviewer wrote. Amounts are minor units. `link` counts keys linked to an older
    one that is over and did nothing. `reason` is the argument that its tool declares as saying why:
    one of few words. `forgotten_since` is set while a request of it since then may have been forgotten by a restore
    from a backup: it is looked up before anything is sent.
    """

    run = models.ForeignKey(
        Run, models.PROTECT, related_name="effects", db_index=False
    )  # `effect_place_once` has it
    key = models.TextField(unique=True)
    step = models.TextField()
    visit = models.IntegerField()
    ordinal = models.IntegerField()
    link = models.IntegerField(default=1)
    linked_from = models.ForeignKey("self", models.PROTECT, null=True, related_name="linked", db_index=False)
    undo_of = models.ForeignKey("self", models.PROTECT, null=True, related_name="undos", db_index=False)
    tool = models.TextField()
    tool_version = models.IntegerField(default=1)
    effect_class = state_field()
    digest_asked = models.TextField()
    digest = models.TextField()
    # What is sealed is never deleted, only its key: nobody looks for the effect of a box.
    payload_asked = models.ForeignKey(Sealed, models.PROTECT, related_name="+", db_index=False)
    payload = models.ForeignKey(Sealed, models.PROTECT, related_name="+", db_index=False)
    facts = models.ForeignKey(Sealed, models.PROTECT, null=True, related_name="+", db_index=False)
    words = models.ForeignKey(Sealed, models.PROTECT, null=True, related_name="+", db_index=False)
    said = models.ForeignKey(Sealed, models.PROTECT, null=True, related_name="+", db_index=False)
    vendor = models.TextField(default="")
    amount_minor = models.BigIntegerField(null=True)
    currency = models.TextField(default="")
    reason = models.TextField(default="", db_default="")
    once_per = models.TextField(default="")
    state = state_field(EffectState.PENDING)
    round = models.IntegerField(default=1)
    approved_round = models.IntegerField(null=True)
    sends = models.IntegerField(default=0)
    open_sends = models.IntegerField(default=0)
    error_saved = models.BooleanField(default=False)
    first_sent_at = models.DateTimeField(null=True)
    last_sent_at = models.DateTimeField(null=True)
    send_by = models.DateTimeField(null=True)
    looks = models.IntegerField(default=0)
    next_look_at = models.DateTimeField(null=True)
    forgotten_since = models.DateTimeField(null=True)
    receipt_id = models.TextField(default="")
    proof = models.ForeignKey(Sealed, models.PROTECT, null=True, related_name="+", db_index=False)
    adopted = models.BooleanField(default=False)
    failure = models.TextField(default="")
    recorded_at = models.DateTimeField(db_default=Clock())
    settled_at = models.DateTimeField(null=True)
    applied_no = models.IntegerField(
        null=True
    )  # number of the applied event in its run: the order of application

    class Meta:
        constraints = [
            one_of("state", EffectState, "effect_state_known"),
            one_of("effect_class", EffectClass, "effect_class_known"),
            models.UniqueConstraint(
                fields=["run", "step", "visit", "ordinal", "link", "undo_of"],
                name="effect_place_once",
                nulls_distinct=False,
            ),
            # A receipt proves one effect: the vendor's name for what moved may be taken over once.
            models.UniqueConstraint(
                fields=["receipt_id", "vendor"],
                condition=~Q(receipt_id="") & Q(undo_of=None),
                name="receipt_once",
            ),
            models.CheckConstraint(
                condition=Q(open_sends__gte=0) & Q(open_sends__lte=models.F("sends")),
                name="effect_sends_counted",
            ),
            models.CheckConstraint(
                condition=Q(sends=0) | Q(first_sent_at__isnull=False), name="effect_first_sent"
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_look_at"],
                name="effect_unsettled",
                condition=Q(state__in=["pending", "in doubt"]),
            ),
            models.Index(
                fields=["forgotten_since"],
                name="effect_forgotten",
                condition=Q(forgotten_since__isnull=False),
            ),
            models.Index(fields=["once_per"], name="effect_once_per", condition=~Q(once_per="")),
            # Nearly all effects come to be applied: those are found by going back from the newest.
            models.Index(fields=["state", "-id"], name="effect_not_applied", condition=~Q(state="applied")),
            models.Index(
                fields=["linked_from"], name="effect_linked", condition=Q(linked_from__isnull=False)
            ),
            models.Index(fields=["undo_of"], name="effect_undo", condition=Q(undo_of__isnull=False)),
            # Forward effects are found by `receipt_once`.
            models.Index(
                fields=["receipt_id"],
                name="effect_undo_receipt",
                condition=~Q(receipt_id="") & Q(undo_of__isnull=False),
            ),
            BrinIndex(fields=["recorded_at"], name="effect_recorded", autosummarize=True),
            models.Index(fields=["tool", "-id"], name="effect_by_tool"),
            # What was moved lately, in sum: read from the index alone. An effect comes into it once, when applied.
            models.Index(
                fields=["settled_at"],
                include=["currency", "amount_minor"],
                name="effect_moved",
                condition=Q(state="applied", undo_of=None, amount_minor__isnull=False),
            ),
            models.Index(
                fields=["currency", "amount_minor", "id"],
                name="effect_by_amount",
                condition=Q(amount_minor__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.key


class Subject(models.Model):
    """Whom an effect was about, as a keyed hash: findable by who knows the name, worthless to who does not."""

    effect = models.ForeignKey(Effect, models.CASCADE, related_name="subjects", db_index=False)
    # The effect's run once more, so that policy finds what one run has done for a subject, however much others have.
    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    kind = models.TextField()
    hash = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["effect", "kind"], name="subject_once")]
        indexes = [models.Index(fields=["hash", "run"], name="subject_of_run")]

    def __str__(self) -> str:
        return f"{self.kind} of effect {self.effect_id}"


class LedgerEvent(models.Model):
    """What became true, when, by whom. Written once; the database refuses change, deletion and truncation to all.

    `run_ref` names the chain: a run's id, or, for acts outside of runs, the object that was acted on (`person:7`); such
    an act may name in `effect_key` what else it concerned. `no` numbers the events of one chain without a gap; `hash`
    is SHA-256 over the previous hash and this row, both set by the database. `body` is canonical JSON of digests, minor
    units, keyed hashes and numbers, never personal data: what people said stands sealed in `detail` or `act_words`.
    """

    run_ref = models.TextField()
    no = models.IntegerField()
    kind = models.TextField()
    effect_key = models.TextField(default="")
    actor = models.TextField()
    body = models.TextField(default="{}")
    at = models.DateTimeField(db_default=Clock())
    hash = models.BinaryField(max_length=32, db_default=b"")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run_ref", "no"], name="event_once"),
            models.CheckConstraint(
                condition=~Q(kind__contains="\n")
                & ~Q(effect_key__contains="\n")
                & ~Q(actor__contains="\n")
                & ~Q(body__contains="\n")
                & ~Q(run_ref__contains="\n"),
                name="event_single_lines",
            ),
        ]
        indexes = [
            models.Index(fields=["effect_key", "id"], name="event_of_effect", condition=~Q(effect_key="")),
            # The log of acts, newest first: of people, of machines, of one actor, of one kind.
            models.Index(fields=["at", "id"], name="act_of_people", condition=ACTS & ~BY_MACHINE),
            models.Index(fields=["at", "id"], name="act_of_machines", condition=ACTS & BY_MACHINE),
            models.Index(fields=["actor", "at", "id"], name="act_by_actor", condition=ACTS),
            models.Index(fields=["kind", "at", "id"], name="act_by_kind", condition=ACTS),
        ]

    def __str__(self) -> str:
        return f"{self.run_ref} {self.no} {self.kind}"


class EventDetail(models.Model):
    """The part of an event that may be erased: a reason, a comment, a reviewer's words."""

    event = models.OneToOneField(LedgerEvent, models.PROTECT, related_name="detail")
    sealed = models.ForeignKey(Sealed, models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return f"detail of event {self.event_id}"


class ActKey(models.Model):
    """A key under which words about one object outside of runs are sealed, wrapped. Destroying it erases them; what is
    said of the object later is sealed under the next."""

    chain = models.TextField()
    wrapped = models.BinaryField(null=True)
    destroyed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chain"], condition=Q(destroyed_at=None), name="act_key_once_per_chain"
            )
        ]

    def __str__(self) -> str:
        return f"key of {self.chain}"


class ActWords(models.Model):
    """The part of an act outside of runs that may be erased: a reason, an address. Sealed under its object's key."""

    event = models.OneToOneField(LedgerEvent, models.PROTECT, related_name="act_words")
    key = models.ForeignKey(ActKey, models.PROTECT, related_name="+", db_index=False)
    digest = models.TextField()
    box = models.BinaryField()

    def __str__(self) -> str:
        return f"words of event {self.event_id}"


class Chain(models.Model):
    """The head of a chain of events, a run's or another object's; only the database's own trigger moves it."""

    run_ref = models.TextField(primary_key=True)
    no = models.IntegerField(default=0)
    head = models.BinaryField(max_length=32)

    def __str__(self) -> str:
        return f"chain of {self.run_ref}"
