"""Actors: lives told in pieces, deaths in many forms, and what only answers know."""

from __future__ import annotations

from typing import Any

import pytest

from rayhist_testkit.folding import ENDED, answer, event, fold, in_base64, listed

from .actors_told import (
    ACTOR,
    GROUP,
    KILLED,
    NO_ADDRESS,
    NODE,
    OTHER_NODE,
    OTHER_WORKER,
    WORKER,
    alive,
    definition,
    document,
    lifecycle,
    logical,
    ms,
    row,
    second,
    shown,
    state,
)


def test_an_actor_that_waits_has_nil_ids_and_no_times() -> None:
    folded = fold([definition(), lifecycle(state("PENDING_CREATION", 1))])

    assert document(folded) == {
        "actorId": ACTOR,
        "jobId": "01000000",
        "address": NO_ADDRESS,
        "name": "c",
        "className": "Counter",
        "labelSelector": {},
        "state": "PENDING_CREATION",
        "numRestarts": "0",
        "timestamp": 0.0,
        "pid": 0,
        "startTime": 0,
        "endTime": 0,
        "reprName": "",
        "actorClass": "Counter",
        "exitDetail": "-",
        "requiredResources": {"CPU": 0.1},
        "gpus": [],
        "processStats": None,
        "mem": [],
        "tpus": [],
    }
    assert (row(folded)["node_id"], row(folded)["pid"], row(folded)["death_cause"]) == (None, 0, None)


def test_a_life_may_be_told_in_one_event_or_in_pieces() -> None:
    """Ray merges changes of state, and a death has no address: the last one is kept."""
    life = [state("PENDING_CREATION", 1), alive(2), state("DEAD", 9, deathCause=KILLED)]
    whole = fold([definition(), lifecycle(*life)])
    pieces = fold([lifecycle(life[2]), lifecycle(life[0], life[1]), definition(), lifecycle(life[2])])

    assert whole.everything() == pieces.everything()
    found = document(whole)
    assert (found["state"], found["startTime"], found["endTime"]) == ("DEAD", ms(2), ms(9))
    assert (found["pid"], found["address"]["workerId"], found["exitDetail"]) == (42, WORKER, "killed")
    assert (row(whole)["node_id"], row(whole)["death_cause"]["actor_died_error_context"]["actor_id"]) == (
        NODE,
        ACTOR,
    )


def test_a_death_told_twice_ends_at_the_first_and_changed_at_the_last() -> None:
    found = document(fold([definition(), lifecycle(alive(2), state("DEAD", 8), state("DEAD", 9))]))

    assert (found["endTime"], found["timestamp"]) == (ms(8), float(ms(9)))


def test_a_restart_takes_the_address_and_leaves_the_process() -> None:
    """As the dashboard and the state API show it while the actor waits for its next process."""
    restarted = fold([definition(), lifecycle(alive(2), state("RESTARTING", 3))])

    assert document(restarted)["address"] == NO_ADDRESS
    assert (row(restarted)["node_id"], row(restarted)["pid"]) == (NODE, 42)
    assert (document(restarted)["timestamp"], row(restarted)["num_restarts"]) == (float(ms(2)), "1")


def test_restarts_are_counted_by_reason_and_processes_listed_latest_first() -> None:
    life = [
        alive(2),
        state("RESTARTING", 3),
        alive(4, OTHER_WORKER, OTHER_NODE, pid=43),
        state("RESTARTING", 5, restartReason="NODE_PREEMPTION"),
        alive(6, pid=44),
        state("DEAD", 7),
        state("RESTARTING", 8, restartReason="LINEAGE_RECONSTRUCTION"),
        alive(9, pid=45),
    ]
    folded = fold([definition(), lifecycle(*life)])

    assert [one["pid"] for one in folded.documents("actor.workers")[ACTOR]] == [45, 44, 43, 42]
    assert folded.documents("actor.workers")[ACTOR][2] == {
        "worker_id": OTHER_WORKER,
        "pid": 43,
        "node_id": OTHER_NODE,
    }
    assert (row(folded)["num_restarts"], row(folded)["num_restarts_due_to_node_preemption"]) == ("3", "1")
    assert row(folded)["num_restarts_due_to_lineage_reconstruction"] == "1"
    assert (document(folded)["state"], document(folded)["endTime"]) == ("ALIVE", 0)
    assert document(folded)["startTime"] == ms(2)


@pytest.mark.parametrize(
    ("cause", "text", "snake"),
    [
        (
            {
                "creationTaskFailureContext": {
                    "formattedExceptionString": "boom",
                    "serializedException": "gAWV",
                }
            },
            "boom",
            {
                "creation_task_failure_context": {
                    "formatted_exception_string": "boom",
                    "serialized_exception": "gAWV",
                }
            },
        ),
        (
            {"runtimeEnvFailedContext": {"errorMessage": "no env"}},
            "no env",
            {"runtime_env_failed_context": {"error_message": "no env"}},
        ),
        (
            {"actorUnschedulableContext": {"errorMessage": "nowhere"}},
            "nowhere",
            {"actor_unschedulable_context": {"error_message": "nowhere"}},
        ),
        ({"oomContext": {"errorMessage": "full"}}, "-", {"oom_context": {"error_message": "full"}}),
        (
            {
                "actorDiedErrorContext": {
                    "errorMessage": "x",
                    "ownerId": in_base64(WORKER),
                    "neverStarted": False,
                }
            },
            "x",
            {"actor_died_error_context": {"error_message": "x", "owner_id": WORKER, "never_started": False}},
        ),
        (None, "-", None),
    ],
)
def test_every_cause_of_death_has_two_spellings(
    cause: dict[str, Any] | None, text: str, snake: dict[str, Any] | None
) -> None:
    """The dashboard shows a text, which an out-of-memory kill has not; the state API shows the cause."""
    folded = fold([definition(), lifecycle(state("DEAD", 2, deathCause=cause))])

    assert (document(folded)["exitDetail"], row(folded)["death_cause"]) == (text, snake)


def test_a_placement_groups_names_of_resources_are_for_the_state_api() -> None:
    resources = {
        f"CPU_group_{GROUP}": 0.1,
        f"GPU_group_0_{GROUP}": 1.0,
        f"bundle_group_{GROUP}": 0.001,
        "mine": 2,
    }
    folded = fold([definition(requiredResources=resources, placementGroupId=in_base64(GROUP))])

    assert row(folded)["required_resources"] == resources
    assert document(folded)["requiredResources"] == {"CPU": 0.1, "GPU": 1.0, "mine": 2}
    assert row(folded)["placement_group_id"] == document(folded)["placementGroupId"] == GROUP


def test_an_actor_that_outlived_its_cluster_died_with_it() -> None:
    """Its uptime would otherwise grow for ever in the browser; its last use of hardware stays on show."""
    events = [definition(), lifecycle(alive(2))]
    folded = fold(events, answers=[logical(shown("ALIVE", ms(2)))], end=ENDED)
    found = document(folded)

    assert (found["state"], found["endTime"]) == ("DEAD", ENDED.at_ms)
    assert found["exitDetail"] == (
        "The cluster ended at 2026-11-30 17:33:20 UTC. The cluster was shut down. The actor was ALIVE then."
    )
    assert row(folded)["death_cause"] == {
        "actor_died_error_context": {
            "error_message": found["exitDetail"],
            "never_started": False,
            "reason": "UNSPECIFIED",
        }
    }
    assert (found["processStats"]["cpuPercent"], found["numExecutedTasks"]) == (1.5, 9)


def test_a_dead_actor_shows_no_process_as_live() -> None:
    """The answer was taken while it lived; its node's memory is shown all the same."""
    events = [definition(), lifecycle(alive(2), state("DEAD", 9, deathCause=KILLED))]
    found = document(fold(events, answers=[logical(shown("ALIVE", ms(2)))], end=ENDED))

    assert (found["processStats"], found["mem"], "numExecutedTasks" in found) == (None, [4, 3, 2, 1], False)
    assert (found["exitDetail"], found["endTime"]) == ("killed", ms(9))


def test_an_actor_killed_before_it_came_alive_shows_where_it_was_to() -> None:
    """Events do not tell where; Ray's dashboard does, and its state API has the pid alone."""
    killed = [definition(), lifecycle(state("PENDING_CREATION", 1), state("DEAD", 2, deathCause=KILLED))]
    seen = shown("DEAD", ms(2) - 30, endTime=ms(2) - 30)
    folded = fold(killed, answers=[logical(seen)])
    assert document(folded)["address"] == seen["address"]
    assert document(folded)["pid"] == 42
    assert document(folded)["endTime"] == ms(2) - 30  # as in Ray's table, not as in the later event
    assert (row(folded)["node_id"], row(folded)["pid"]) == (None, 42)


def test_an_actor_keeps_the_process_that_its_cluster_forgot_while_it_was_shut_down() -> None:
    whole = shown("ALIVE", ms(2), workerId=WORKER)
    bare = {name: value for name, value in whole.items() if name not in {"workerId", "numExecutedTasks"}}
    later = answer("/logical/actors", {"data": {"actors": {ACTOR: bare}}}, at_ms=ms(9))
    for answers in ([logical(whole), later], [later, logical(whole)]):
        folded = fold([definition(), lifecycle(alive(2))], answers=answers)
        assert document(folded)["numExecutedTasks"] == 9


def test_a_process_that_is_gone_is_not_shown_for_the_next() -> None:
    """The actor restarted after the dashboard was asked."""
    events = [definition(), lifecycle(alive(2), state("RESTARTING", 3), alive(4, OTHER_WORKER))]

    assert document(fold(events, answers=[logical(shown("ALIVE", ms(2)))]))["processStats"] is None


def test_a_change_that_only_the_dashboard_saw_counts() -> None:
    """Its event was lost with the head; an answer that is older than the last event changes nothing."""
    died = shown("DEAD", ms(9), endTime=ms(9), exitDetail="gone")
    events = [definition(), lifecycle(alive(2))]
    newer = document(fold(events, answers=[logical(died)], end=ENDED))
    older = document(fold([definition(), lifecycle(alive(20))], answers=[logical(died)]))

    assert (newer["state"], newer["endTime"], newer["exitDetail"]) == ("DEAD", ms(9), "gone")
    assert (newer["startTime"], older["state"]) == (ms(2), "ALIVE")


def test_actors_are_known_from_answers_alone() -> None:
    """From the pages, and from the state API, which knows more of some things."""
    listed_row = {
        "actor_id": ACTOR,
        "state": "DEAD",
        "ray_namespace": "ns",
        "num_restarts": "2",
        "death_cause": {"oom_context": {}},
    }
    answers = [logical(shown("DEAD", ms(9), endTime=ms(9), startTime=ms(2))), listed("actors", [listed_row])]
    folded = fold([], answers=answers)

    assert (row(folded)["class_name"], row(folded)["ray_namespace"]) == ("Counter", "ns")
    assert (row(folded)["state"], row(folded)["num_restarts"], row(folded)["pid"]) == ("DEAD", "2", 42)
    assert row(folded)["death_cause"] == {"oom_context": {}}
    assert (document(folded)["startTime"], document(folded)["endTime"]) == (ms(2), ms(9))


def test_ray_2_53_leaves_the_pid_to_the_workers_event() -> None:
    """Its actor events have neither pid nor port."""
    events = [
        event("WORKER_DEFINITION_EVENT", workerId=in_base64(WORKER), nodeId=in_base64(NODE), pid=4242),
        definition(),
        lifecycle(alive(2, pid=0, port=0)),
    ]
    folded = fold(events)

    assert (row(folded)["pid"], document(folded)["pid"]) == (4242, 4242)


def test_a_blank_never_takes_what_was_known() -> None:
    folded = fold([definition(), definition(second(5), name="", className="", requiredResources={})])

    assert (row(folded)["name"], row(folded)["class_name"]) == ("c", "Counter")
    assert row(folded)["required_resources"] == {"CPU": 0.1}


def test_an_actor_without_a_definition_still_has_its_job() -> None:
    """The job's id is the end of the actor's."""
    assert row(fold([lifecycle(alive(2))]))["job_id"] == "01000000"


def test_a_nodes_page_lists_every_actor_that_was_there() -> None:
    """Also one that has moved on, and one that never started there; keys are as the page has them."""
    waiting = "ff" * 12 + "01000000"
    leased = {"nodeId": NODE, "workerId": "", "ipAddress": "", "port": 0}
    answers = [logical(shown("PENDING_CREATION", 0, actorId=waiting, address=leased))]
    events = [definition(requiredResources={"my_thing": 1.0}), lifecycle(alive(2), state("RESTARTING", 3))]
    details = fold([*events, lifecycle(alive(4, OTHER_WORKER, OTHER_NODE))], answers=answers)
    nodes = fold(
        [event("NODE_DEFINITION_EVENT", nodeId=in_base64(one)) for one in (NODE, OTHER_NODE)]
        + [*events, lifecycle(alive(4, OTHER_WORKER, OTHER_NODE))],
        answers=answers,
    ).documents("node.detail")

    assert details.documents("actor")[waiting]["address"] == leased
    assert sorted(nodes[NODE]["actors"]) == [ACTOR, waiting]
    assert list(nodes[OTHER_NODE]["actors"]) == [ACTOR]
    assert nodes[NODE]["actors"][ACTOR]["requiredResources"] == {"myThing": 1.0}
