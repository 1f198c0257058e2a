"""An agent with three outcomes that are kept apart.

    outcome = await agent.invoke_agent("Find the street.", schema={"type": "string"})

What comes back is the result, any JSON value, or an Error: the agent's own failure, which is
returned like a result. What breaks around the agent is raised: see the exceptions below.
"""

import asyncio
import json
from dataclasses import dataclass, field

from schema import SchemaError, check_schema, problems


@dataclass(frozen=True)
class Error:
    """The agent could not do its task. Equal to another one exactly when the messages are."""

    message: str
    cause: str = field(default="produce_error", compare=False)


class ToolFailure(Exception):
    """A tool raised; __cause__ is what it raised."""


class InvalidConfiguration(ValueError):
    """There is no agent, or it cannot be run as it is configured."""


class LockTimeout(TimeoutError):
    """The agent was busy for too long."""


class PromptHookFailure(Exception):
    """A system prompt hook raised; __cause__ is what it raised."""


class ModelFailure(Exception):
    """The model's endpoint failed."""


@dataclass(frozen=True)
class Limits:
    max_turns: int = 5
    output_attempts: int = 3
    timeout: float = 120.0  # seconds, from when the call has the lock
    lock_timeout: float = 120.0  # seconds


ANY = object()  # no schema: null is one that somebody may ask for

OUTPUT, ERROR = "produce_output", "produce_error"
REMINDER = f"Your task is still open: call {OUTPUT} with its result, or {ERROR} if it cannot be done."


class Agent:
    """One agent. It runs one call at a time; others wait for it.

    model      async (messages, tools) -> message, both as chat completions have them; None: no agent
    tools      name -> async (arguments) -> JSON value
    on_invoke  hooks (prompt) -> str or None, in order
    prompts    system prompt hooks () -> str, in order
    """

    def __init__(self, model, tools=None, on_invoke=(), prompts=()):
        self.model, self.tools = model, dict(tools or {})
        self.on_invoke, self.prompts = list(on_invoke), list(prompts)
        self._lock = asyncio.Lock()
        self._active = set()  # ids of persistent sessions with a call
        self._conversations = {}  # of persistent sessions

    async def invoke_agent(self, prompt, schema=ANY, session=None, limits=Limits()):
        self._check(schema, limits)
        for hook in self.on_invoke:
            text = hook(prompt)
            if text is not None:
                return Error(text, "invocation_hook")
        if session is None:
            return await self._when_free(prompt, schema, None, limits)
        if session in self._active:
            return Error(f"session {session!r} is active", "session_conflict")
        self._active.add(session)
        try:
            return await self._when_free(prompt, schema, session, limits)
        finally:
            self._active.discard(session)

    def _check(self, schema, limits):
        if self.model is None:
            raise InvalidConfiguration("no agent is available")
        if limits.max_turns < 0 or limits.output_attempts < 1 or limits.timeout <= 0 or limits.lock_timeout <= 0:
            raise InvalidConfiguration(f"limits out of range: {limits}")
        taken = {OUTPUT, ERROR} & self.tools.keys()
        if taken:
            raise InvalidConfiguration(f"the names {sorted(taken)} are not free for tools")
        if schema is not ANY:
            try:
                check_schema(schema)
            except SchemaError as error:
                raise InvalidConfiguration(f"the output schema cannot be used: {error}") from error

    async def _when_free(self, prompt, schema, session, limits):
        try:
            await asyncio.wait_for(self._lock.acquire(), limits.lock_timeout)
        except TimeoutError:
            raise LockTimeout(f"the agent was busy for {limits.lock_timeout} s") from None
        try:
            async with asyncio.timeout(limits.timeout) as clock:
                return await self._converse(prompt, schema, session, limits)
        except TimeoutError:
            if not clock.expired():
                raise  # somebody else's
            return Error(f"no result within {limits.timeout} s", "timeout")
        finally:
            self._lock.release()

    async def _converse(self, prompt, schema, session, limits):
        messages = list(self._conversations.get(session, ())) or self._set_up()
        messages.append({"role": "user", "content": prompt})
        run = _Run(self.tools, schema, limits)
        while True:
            reply = await self.model(messages, run.offered())
            messages.append(reply)
            done, outcome = await run.step(reply, messages)
            if done:
                if session is not None:
                    self._conversations[session] = _whole(messages)
                return outcome

    def _set_up(self):
        try:
            parts = [hook() for hook in self.prompts]
        except Exception as error:
            raise PromptHookFailure(str(error)) from error
        return [{"role": "system", "content": "\n\n".join(parts)}] if parts else []


def _whole(messages):
    """A conversation can only go on where every call has its result."""
    while messages and (messages[-1].get("tool_calls") or messages[-1]["role"] == "tool"):
        messages = messages[:-1]
    return messages


class _Run:
    """What one invocation counts and remembers."""

    def __init__(self, tools, schema, limits):
        self.tools, self.schema, self.limits = tools, schema, limits
        self.error = None  # of the latest produce_error
        self.turns = self.attempts = 0

    async def step(self, reply, messages):
        """Deal with a message of the model: (True, outcome), or (False, None) to ask again."""
        calls = reply.get("tool_calls") or []
        if not calls:
            if self.error is not None:
                return True, self.error
            self.turns += 1
            if self.turns > self.limits.max_turns:
                return True, Error(f"no result after {self.limits.max_turns} turns", "max_turns")
            messages.append({"role": "user", "content": REMINDER})
            return False, None
        for call in calls:
            done, answer = await self._call(call["function"]["name"], call["function"]["arguments"])
            if done:
                return True, answer
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer})
        return False, None

    async def _call(self, name, text):
        try:
            arguments = json.loads(text or "{}")
            wrong = None if isinstance(arguments, dict) else "the arguments are not an object"
        except ValueError as error:
            arguments, wrong = {}, f"the arguments are not JSON: {error}"
        if name == OUTPUT:
            return self._output(arguments, wrong)
        if name == ERROR:
            if wrong is None and not isinstance(arguments.get("message"), str):
                wrong = "the argument message must be a string"
            if wrong is None:
                self.error = Error(arguments["message"])
            return False, wrong or "noted; stop now, or try another way"
        if name not in self.tools:
            return False, f"there is no tool {name}"
        if wrong is not None:
            return False, wrong
        try:
            result = await self.tools[name](arguments)
        except Exception as error:  # a cancellation is none
            raise ToolFailure(f"{name}: {error}") from error
        return False, result if isinstance(result, str) else json.dumps(result)

    def _output(self, arguments, wrong):
        if wrong is None and "value" not in arguments:
            wrong = "the argument value is missing"
        if wrong is None and self.schema is not ANY:
            wrong = "; ".join(problems(arguments["value"], self.schema)) or None
        if wrong is None:
            return True, arguments["value"]
        self.attempts += 1
        if self.attempts >= self.limits.output_attempts:
            return True, Error(f"no valid output after {self.attempts} attempts: {wrong}", "schema_validation")
        return False, f"this output is not valid: {wrong}"

    def offered(self):
        def tool(name, properties, required):
            parameters = {"type": "object", "properties": properties, "required": required}
            return {"type": "function", "function": {"name": name, "parameters": parameters}}

        value = {} if self.schema is ANY else self.schema
        own = [tool(OUTPUT, {"value": value}, ["value"]), tool(ERROR, {"message": {"type": "string"}}, ["message"])]
        return own + [tool(name, {}, []) for name in self.tools]
