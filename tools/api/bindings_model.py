"""What the Python client consists of: calls and messages of the API's document, with the names in `names.json`.

`names.json` has the names of the original's client, by which programs know it: of each call (`operations`), of the
messages and enumerations that a call or a member of a message has, and of the enumerations' values. Names spread from
there: the schema of a call's reply gets the name of that reply, the schema of a member the name of that member's type.
A schema that is reached under several names becomes a message for each. `extensions` names the calls that the original
lacks; a call without a name gets one made from its path, and a schema without a name keeps its own. `open` has messages
that the document leaves open, as free JSON or not at all, with all their members. `more` has members of requests that
the master accepts and the document lacks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any]
PLAIN = {"integer": "int", "boolean": "bool", "number": "float", "string": "str"}


@dataclass
class Member:
    name: str
    type: str
    required: bool


@dataclass
class Message:
    name: str
    members: list[Member]
    tags: set[str] = field(default_factory=set)


@dataclass
class Parameter:
    name: str
    wire: str
    place: str
    type: str
    required: bool


@dataclass
class Call:
    name: str
    verb: str
    path: str
    tag: str
    summary: str
    parameters: list[Parameter]
    body: str | None
    body_required: bool
    reply: str | None
    streams: bool


def anonymous(path: str) -> str:
    """The path without the names of its parameters, which differ between the document and the original."""
    return re.sub(r"\{\w+\}", "{}", path)


def made_name(verb: str, path: str) -> str:
    """get_GetExperimentPareto for GET /api/v1/experiments/{experimentId}/pareto."""
    words = []
    for segment, after in zip(parts := path.removeprefix("/api/v1/").split("/"), [*parts[1:], ""], strict=True):
        if not segment.startswith("{"):
            word = "".join(w[:1].upper() + w[1:] for w in re.split(r"[-_.]", segment))
            words.append(word.removesuffix("s") if after.startswith("{") else word)
    return f"{verb}_{verb.capitalize()}{''.join(words)}"


def words_in(type_: str) -> set[str]:
    return set(re.findall(r"\w+", type_))


class Model:
    """All calls and messages, named."""

    def __init__(self, document: dict[str, Any], names: dict[str, Any]) -> None:
        self.schemas: dict[str, Schema] = document["components"]["schemas"]
        self.known: dict[str, dict[str, str]] = names["messages"]
        self.more: dict[str, dict[str, str]] = names["more"]
        self.open: dict[str, dict[str, str]] = names["open"]
        self.enums: dict[str, list[str]] = names["enums"]
        self._operations = {anonymous(key): (key, entry) for key, entry in names["operations"].items()}
        self._operations |= {anonymous(key): (key, entry) for key, entry in names["extensions"].items()}
        self._schemas_of: dict[str, list[str]] = {}  # message -> its schemas
        self._read: set[str] = set()  # messages whose members are typed as replies have them
        self.calls = [
            self._call(verb, path, operation)
            for path, operations in document["paths"].items()
            for verb, operation in operations.items()
        ]
        self._spread()
        self.messages = {name: self._message(name) for name in self._schemas_of}
        for call in self.calls:
            for type_ in (call.body, call.reply):
                self._tag(type_ or "", call.tag)

    def _call(self, verb: str, path: str, operation: dict[str, Any]) -> Call:
        named, entry = self._operations.get(anonymous(f"{verb.upper()} {path}"), (f"{verb.upper()} {path}", {}))
        name = entry.get("name") or made_name(verb, path)
        stem = "v1" + name.split("_", 1)[1]
        content = operation["responses"]["200"]["content"]
        streams = "application/x-ndjson" in content
        schema = content["application/x-ndjson"]["schema"] if streams else content["application/json"]["schema"]
        if streams:
            schema = schema["properties"]["result"]
        reply = entry.get("reply")
        if not reply and schema.get("$ref", "").rpartition("/")[2] != "Empty":
            reply = f"{stem}Response"
        given = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        body = entry.get("body") or (f"{stem}Request" if given else None)
        return Call(
            name,
            verb,
            re.sub(r"\{\w+\}", "{}", path),
            operation["tags"][0],
            operation.get("summary", "").strip(),
            list(self._parameters(named, entry, operation)),
            self._named(body, given) if body else None,
            "body" in entry or "reply" not in entry,
            self._named(reply, schema) if reply else None,
            streams,
        )

    def _parameters(self, named: str, entry: dict[str, Any], operation: dict[str, Any]) -> Iterator[Parameter]:
        in_path = iter(re.findall(r"\{(\w+)\}", named))
        for parameter in operation.get("parameters", []):
            name = next(in_path) if parameter["in"] == "path" else parameter["name"].replace(".", "_")
            name = entry.get("parameters", {}).get(name, name)
            enum = entry.get("query", {}).get(name)
            type_ = self._type(parameter["schema"], enum).replace("list[", "Sequence[")
            type_ = "int" if parameter["schema"].get("format") == "int64" else type_
            yield Parameter(name, parameter["name"], parameter["in"], type_, parameter.get("required", False))

    def _named(self, name: str, schema: Schema | None) -> str:
        """The type of a body or a reply. A schema of its own becomes a message of this name."""
        if schema and "$ref" in schema:
            self._reach(name, schema["$ref"].rpartition("/")[2])
            return name
        if schema and schema.get("type") != "object":
            return self._type(schema, None)
        if name in self.open:
            self._schemas_of.setdefault(name, [])
            return name
        return "dict[str, Any]"

    def _reach(self, name: str, schema: str) -> None:
        found = self._schemas_of.setdefault(name, [])
        if schema in found:
            return
        found.append(schema)
        for member, its in self.schemas[schema].get("properties", {}).items():
            wanted = self.known.get(name, {}).get(member)
            if wanted and wanted not in self.enums and (inner := _reference(its)):
                self._reach(wanted, inner)
            elif wanted in self.open:
                self._schemas_of.setdefault(str(wanted), [])

    def _spread(self) -> None:
        """Gives a name to all schemas that have none and are part of a message."""
        self._name_of: dict[str, str] = {}
        for name, schemas in self._schemas_of.items():
            for schema in schemas:
                self._name_of.setdefault(schema, name)
        waiting = list(self._name_of)
        while waiting:
            for its in self.schemas[waiting.pop()].get("properties", {}).values():
                inner = _reference(its)
                if inner and inner not in self._name_of:
                    name = "v1" + inner.removesuffix("Object")
                    if name in self._schemas_of or name in self.enums:
                        name = "v1" + inner + "Message"
                    self._name_of[inner] = name
                    self._schemas_of[name] = [inner]
                    waiting.append(inner)

    def _message(self, name: str) -> Message:
        schemas = [self.schemas[schema] for schema in self._schemas_of[name]]
        if not schemas:
            reply = name.endswith("Response")
            return Message(name, [Member(member, type_, reply) for member, type_ in self.open[name].items()])
        known = self.known.get(name, {})
        foreign = self._foreign(name)
        members: dict[str, Member] = {}
        for schema in sorted(schemas, key=lambda s: -len(s.get("properties", {}))):
            for member, its in schema.get("properties", {}).items():
                if member not in members and member not in foreign:
                    type_ = self._type(its, known.get(member))
                    may_be_null = its.get("nullable") or ("type" not in its and "$ref" not in its and type_ != "Any")
                    required = all(member in other.get("required", []) for other in schemas) and not may_be_null
                    members[member] = Member(member, type_, required)
        for member, type_ in self.more.get(name, {}).items():
            members.setdefault(member, Member(member, type_, False))
        return Message(name, sorted(members.values(), key=lambda m: not m.required))

    def _foreign(self, name: str) -> set[str]:
        """Members that only other messages of the same schema have in the original: a notebook's `shell`."""
        mine = self.known.get(name, {})
        shared = [
            other
            for other, schemas in self._schemas_of.items()
            if other != name and other in self.known and set(schemas) & set(self._schemas_of[name])
        ]
        return {member for other in shared for member in self.known[other]} - set(mine) if mine else set()

    def _type(self, schema: Schema, wanted: str | None) -> str:
        """A Python type. `wanted` is the original's type of the member, or of the items of the member."""
        if "allOf" in schema:  # of one schema, which may be null
            schema = schema["allOf"][0]
        if "$ref" in schema:
            inner = schema["$ref"].rpartition("/")[2]
            return wanted if wanted and inner in self._schemas_of.get(wanted, []) else self._name_of[inner]
        if schema.get("type") == "array":
            return f"list[{self._type(schema['items'], wanted)}]"
        if schema.get("type") == "object":
            items = schema.get("additionalProperties")
            return f"dict[str, {self._type(items, wanted) if isinstance(items, dict) else 'Any'}]"
        if "type" not in schema:
            return wanted if wanted in self._schemas_of else "Any"
        if schema["type"] == "string" and (wanted == "int" or wanted in self.enums):
            return str(wanted)
        return PLAIN[schema["type"]]

    def _tag(self, type_: str, tag: str) -> None:
        for name in words_in(type_) & self.messages.keys():
            message = self.messages[name]
            if tag not in message.tags:
                message.tags.add(tag)
                for member in message.members:
                    self._tag(member.type, tag)


def _reference(schema: Schema) -> str | None:
    """The schema that a member, its items or its values have."""
    while "$ref" not in schema:
        inner = schema["allOf"][0] if "allOf" in schema else schema.get("items") or schema.get("additionalProperties")
        if not isinstance(inner, dict):
            return None
        schema = inner
    return str(schema["$ref"]).rpartition("/")[2]
