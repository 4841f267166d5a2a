"""Exports of ChatGPT and Open WebUI, lists of messages: trees, versions, system messages, and what is left out."""

from __future__ import annotations

import json
from typing import Any

from mtpchat.exchange.findings import Found, Skipped
from mtpchat.exchange.intake import findings
from mtpchat.whole_chat import WholeChat, model_of, shown, system_of

AT = 1_700_000_000.0


def one(value: object) -> Found:
    (found,) = findings(json.dumps(value).encode(), AT)
    assert isinstance(found, Found), found
    return found


def branch(chat: WholeChat) -> list[tuple[str, str]]:
    return [(node.role, node.content) for node in shown(chat)]


def node(
    name: str, parent: str | None, children: list[str], role: str = "", *parts: object, **more: Any
) -> dict[str, Any]:
    content = {"content_type": "text", "parts": list(parts)} | more.pop("content", {})
    message = {"id": name, "author": {"role": role}, "create_time": AT, "content": content, "status": "finished"} | more
    return {name: {"id": name, "message": message if role else None, "parent": parent, "children": children}}


def conversation(*nodes: dict[str, Any], current: str) -> dict[str, Any]:
    mapping = {name: value for each in nodes for name, value in each.items()}
    about = {"title": "Rivers", "create_time": AT, "update_time": AT + 9, "conversation_id": "c-1"}
    return {**about, "mapping": mapping, "current_node": current}


CHATGPT = conversation(
    node("root", None, ["sys"]),
    node("sys", "root", ["q"], "system", ""),
    node("q", "sys", ["a1", "a2"], "user", "Why do rivers meander?"),
    node("a1", "q", [], "assistant", "They are lazy."),
    node("a2", "q", ["more"], "assistant", "Banks erode.", metadata={"model_slug": "gpt-4o"}),
    node("more", "a2", ["thought"], "user", {"content_type": "image_asset_pointer"}, "And this one?"),
    node(
        "thought", "more", ["call"], "assistant", content={"content_type": "thoughts", "thoughts": [{"content": "Hm."}]}
    ),
    node("call", "thought", ["result"], "assistant", "search()", recipient="browser"),
    node("result", "call", ["end"], "tool", "found it"),
    node("end", "result", [], "assistant", "It is the Mosel.", metadata={"model_slug": "gpt-4o"}),
    current="end",
)


def test_a_chatgpt_conversation_keeps_its_versions_and_shows_the_current_one() -> None:
    found = one([CHATGPT])
    assert branch(found.chat) == [
        ("user", "Why do rivers meander?"),
        ("assistant", "Banks erode."),
        ("user", "And this one?"),
        ("assistant", "It is the Mosel."),
    ]
    assert {said.content for said in found.chat.messages} >= {"They are lazy.", "Banks erode."}
    assert shown(found.chat)[-1].thinking == "Hm."
    assert model_of(found.chat) == "gpt-4o"
    assert (found.chat.title, found.chat.named, found.chat.updated) == ("Rivers", True, AT + 9)


def test_what_cannot_be_taken_is_counted_in_words() -> None:
    assert one([CHATGPT]).left_out == {"pictures and other parts": 1, "calls of tools": 1, "messages of 'tool'": 1}


def test_the_same_conversation_has_the_same_ids_whatever_the_order_of_its_mapping() -> None:
    turned = {**CHATGPT, "mapping": dict(reversed(CHATGPT["mapping"].items()))}
    assert {said.id for said in one([turned]).chat.messages} == {said.id for said in one([CHATGPT]).chat.messages}
    assert branch(one([turned]).chat) == branch(one([CHATGPT]).chat)


def test_children_alone_make_a_tree() -> None:
    bare = json.loads(json.dumps(CHATGPT))
    for each in bare["mapping"].values():
        del each["parent"]
    assert branch(one([bare]).chat) == branch(one([CHATGPT]).chat)


def test_answers_given_twice_in_place_of_one_another_stay_two() -> None:
    thought = {"content_type": "thoughts", "thoughts": [{"content": "Hm."}]}
    found = one(
        conversation(
            node("q", None, ["t"], "user", "Why?"),
            node("t", "q", ["a1", "a2"], "assistant", content=thought),
            node("a1", "t", [], "assistant", "One."),
            node("a2", "t", [], "assistant", "Two."),
            current="a2",
        )
    )
    assert sorted(said.content for said in found.chat.messages) == ["", "One.", "Two.", "Why?"]
    assert shown(found.chat)[-1].content == "Two."


def test_a_circle_of_messages_ends() -> None:
    found = one(
        conversation(
            node("q", None, ["a"], "user", "Why?"),
            node("x", "y", ["y"], "user", "X"),
            node("y", "x", ["x"], "assistant", "Y"),
            node("z", "z", ["z"], "assistant", "Z"),
            current="y",
        )
    )
    assert branch(found.chat) == [("user", "Why?")]
    assert found.left_out == {"messages without a place": 3}


OPEN_WEBUI = {
    "id": "w-1",
    "title": "Otters",
    "created_at": AT,
    "updated_at": AT + 5,
    "pinned": True,
    "chat": {
        "params": {"system": "Be brief."},
        "history": {
            "currentId": "c",
            "messages": {
                "a": {"id": "a", "parentId": None, "childrenIds": ["b", "c"], "role": "user", "content": "Otters?"},
                "b": {"id": "b", "parentId": "a", "childrenIds": [], "role": "assistant", "content": "Yes."},
                "c": {
                    "id": "c",
                    "parentId": "a",
                    "childrenIds": [],
                    "role": "assistant",
                    "model": "qwen3:8b",
                    "timestamp": AT + 3,
                    "content": '<details type="reasoning" done="true" duration="2">\n<summary>Thought for 2 seconds'
                    "</summary>\n&gt; is it &lt;b&gt;?\n</details>\nThey hold hands.",
                },
            },
        },
    },
}


def test_an_open_webui_chat_keeps_branches_reasoning_and_system_message() -> None:
    found = one([OPEN_WEBUI])
    assert branch(found.chat) == [("user", "Otters?"), ("assistant", "They hold hands.")]
    assert shown(found.chat)[-1].thinking == "is it <b>?"
    assert len(found.chat.messages) == 3
    assert (system_of(found.chat), model_of(found.chat)) == ("Be brief.", "qwen3:8b")
    assert (found.chat.title, found.chat.pinned, found.chat.updated) == ("Otters", True, AT + 5)


def test_older_open_webui_exports_have_a_list() -> None:
    messages = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]
    found = one([{"chat": {"title": "T", "messages": messages}}])
    assert (found.form, branch(found.chat)) == ("Open WebUI", [("user", "Q"), ("assistant", "A")])


MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "x"}}]},
    {"role": "assistant", "content": "A cat.", "reasoning_content": "Fur."},
]


def test_lists_of_messages_are_chats_alone_in_objects_and_in_lines() -> None:
    shapes = [json.dumps({"messages": MESSAGES}), json.dumps(MESSAGES), json.dumps([MESSAGES])]
    for text in [*shapes, json.dumps([{"messages": MESSAGES}])]:
        (found,) = findings(text.encode(), AT)
        assert isinstance(found, Found)
        assert branch(found.chat) == [("user", "Look:"), ("assistant", "A cat.")]
        assert (system_of(found.chat), shown(found.chat)[-1].thinking) == ("Be brief.", "Fur.")
        assert found.left_out == {"pictures and other parts": 1}
    lines = f"{json.dumps({'messages': MESSAGES})}\n{json.dumps(MESSAGES)}\n".encode()
    assert len(list(findings(lines, AT))) == 2


def test_what_is_no_chat_is_skipped_with_its_line_and_the_rest_is_taken() -> None:
    text = (
        json.dumps({"messages": MESSAGES}) + '\n{"a": 1}\n{"messages": nothing}\n' + json.dumps({"messages": MESSAGES})
    )
    found = list(findings(text.encode(), AT))
    assert [type(each) for each in found] == [Found, Skipped, Skipped, Found]
    assert [each.line for each in found if isinstance(each, Skipped)] == [2, 3]


def test_halves_of_emoji_become_the_sign_for_what_is_unreadable() -> None:
    found = one({"messages": [{"role": "user", "content": "cut \ud83d"}]})
    assert branch(found.chat) == [("user", "cut ?")]
