"""Laws of looking for slots that nobody uses, over worlds of holders that come, work, go and die."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from flows.slots.caps import TOTAL
from flows.slots.observations import Suspicion, decide_frees, least_of, read_looks, surplus_of

PARTITIONS = ("ingest.a.list.harvest", "ingest.b.list.harvest")
GLANCES = 3
APART = timedelta(seconds=120)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class World:
    """Who holds a slot, who has a lease behind it, and what Prefect counts."""

    now: datetime = BEGIN
    working: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTITIONS, 0))
    leaked: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTITIONS, 0))
    taken: dict[str, int] = field(default_factory=lambda: dict.fromkeys((TOTAL, *PARTITIONS), 0))
    known: dict[str, Suspicion] = field(default_factory=dict)

    def take(self, partition: str, count: int = 1) -> None:
        self.taken[partition] += count
        self.taken[TOTAL] += count

    def end(self, partition: str) -> None:
        """One who works gives his slot back."""
        if self.working[partition]:
            self.working[partition] -= 1
            self.take(partition, -1)

    def die(self, partition: str) -> None:
        """One who works dies after the server forgot him: his slot stays taken."""
        if self.working[partition]:
            self.working[partition] -= 1
            self.leaked[partition] += 1

    def glance(self, in_transit: str | None) -> dict[str, int]:
        """What is seen while somebody has taken a slot and not claimed yet; afterwards he works."""
        if in_transit:
            self.take(in_transit)
        seen = surplus_of(self.taken, self.working)
        if in_transit:
            self.working[in_transit] += 1
        return seen

    def look(self, transits: list[str | None]) -> dict[str, int]:
        """Look, and free by it."""
        surplus = least_of([self.glance(one) for one in transits])
        verdict = decide_frees(self.known, surplus, self.now, APART)
        self.known = read_looks({name: one.json() for name, one in verdict.watch.items()})
        for name, count in verdict.free.items():
            self.taken[name] -= count
        for name in PARTITIONS:
            self.leaked[name] -= verdict.free.get(name, 0)
        return verdict.free


places = st.sampled_from(PARTITIONS)
transits = st.lists(st.none() | places, min_size=GLANCES, max_size=GLANCES).filter(lambda seen: None in seen)
steps = st.one_of(
    st.tuples(st.just("take"), places),
    st.tuples(st.just("end"), places),
    st.tuples(st.just("die"), places),
    st.tuples(st.just("look"), transits),
    st.tuples(st.just("wait"), st.integers(1, 150)),
)


def play(world: World, history: list[tuple[str, object]]) -> None:
    """Let it all happen; at every moment those who hold a slot are counted."""
    for what, how in history:
        match what, how:
            case "take", str(place):
                world.take(place)
                world.working[place] += 1
            case "end", str(place):
                world.end(place)
            case "die", str(place):
                world.die(place)
            case "look", list(seen):
                world.look(seen)
            case "wait", int(seconds):
                world.now += timedelta(seconds=seconds)
        assert all(left >= 0 for left in world.leaked.values()), "a slot was freed that somebody holds"
        assert all(world.taken[name] >= world.working[name] for name in PARTITIONS)
        assert world.taken[TOTAL] >= sum(world.working.values())


@given(st.lists(steps, max_size=60))
def test_no_slot_is_freed_that_somebody_holds_or_is_about_to_use(history: list[tuple[str, object]]) -> None:
    play(World(), history)


@given(st.lists(steps, max_size=40), st.integers(1, 119))
def test_every_leaked_slot_is_freed_by_looks_two_leases_apart(
    history: list[tuple[str, object]], every_seconds: int
) -> None:
    world = World()
    play(world, history)
    world.known = {}
    freed_at, first = [], world.now
    while world.now <= first + APART:
        if world.look([None] * GLANCES):
            freed_at.append(world.now)
        world.now += timedelta(seconds=every_seconds)
    if world.known:
        world.look([None] * GLANCES)
    assert all(moment - first >= APART for moment in freed_at), "freed too early"
    assert world.leaked == dict.fromkeys(PARTITIONS, 0)
    assert world.taken == {TOTAL: sum(world.working.values()), **world.working}


@given(st.dictionaries(places, st.integers(1, 9)), st.dictionaries(places, st.integers(1, 9)))
def test_a_surplus_that_was_gone_at_one_look_begins_anew(first: dict[str, int], last: dict[str, int]) -> None:
    known = decide_frees({}, first, BEGIN, APART).watch
    verdict = decide_frees(known, last, BEGIN + APART, APART)
    assert verdict.free == {name: min(first[name], last[name]) for name in first.keys() & last.keys()}
    assert verdict.watch == {name: Suspicion(BEGIN + APART, last[name]) for name in last.keys() - first.keys()}


@given(st.lists(st.dictionaries(places, st.integers(1, 9)), min_size=1, max_size=4))
def test_a_look_believes_what_it_saw_at_every_glance(glances: list[dict[str, int]]) -> None:
    seen = {name: [glance.get(name, 0) for glance in glances] for name in PARTITIONS}
    assert least_of(glances) == {name: min(counts) for name, counts in seen.items() if all(counts)}


def test_notes_that_somebody_spoilt_are_forgotten() -> None:
    for spoilt in (None, "x", [1], {"ingest.total": 3}, {"ingest.total": ["now", 3]}, {"ingest.total": ["now"]}):
        assert read_looks(spoilt) == {}


def test_a_look_by_a_clock_that_was_ahead_does_not_keep_a_slot() -> None:
    surplus = {PARTITIONS[0]: 1}
    known = decide_frees({}, surplus, BEGIN + timedelta(days=1000), APART).watch
    known = decide_frees(known, surplus, BEGIN, APART).watch
    assert known == {PARTITIONS[0]: Suspicion(BEGIN, 1)}
    assert decide_frees(known, surplus, BEGIN + APART, APART).free == surplus
