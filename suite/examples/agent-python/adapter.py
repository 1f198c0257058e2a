"""The adapter: what Touchstone asks a target about agents, answered by this implementation.

    python3 adapter.py      JSON-RPC 2.0, one message a line on stdin and stdout; stderr is the log
"""

import asyncio
import json
import sys
import threading
import traceback

import agent
from chat import ChatModel

FEATURES = [
    "agent", "agent-streaming", "sub-agents", "persistent-sessions", "invocation-hooks", "prompt-hooks", "error-equality",
]
KINDS = {
    agent.ToolFailure: "tool_failure",
    agent.InvalidConfiguration: "invalid_configuration",
    agent.LockTimeout: "lock_timeout",
    agent.PromptHookFailure: "prompt_hook_failure",
}
objects = {}  # by the names that runs give them


async def describe(_):
    return {"protocol": 1, "name": "python agent example", "version": "1", "features": FEATURES}


async def configure(_):
    objects.clear()
    return {}


async def agent_run(params):
    """Both ways out of a call, as one document: what it returned, and what it raised."""
    try:
        found = objects.get(params["object"])
        if found is None:
            found = objects[params["object"]] = build(params["agent"])
        outcome = await invoke(found, params)
    except Exception as error:
        return {"outcome": "exception", "kind": KINDS.get(type(error), "internal"), "message": str(error)}
    if isinstance(outcome, agent.Error):
        return {"outcome": "error", "cause": outcome.cause, "message": outcome.message}
    return {"outcome": "result", "value": outcome}


async def agent_equal(params):
    first, second = (agent.Error(**e) for e in params["errors"])
    return {"equal": first == second}


def invoke(target, params):
    given = params["limits"]
    limits = agent.Limits(given["maxTurns"], given["outputAttempts"], given["timeoutMs"] / 1000, given["lockTimeoutMs"] / 1000)
    return target.invoke_agent(params["prompt"], params.get("outputSchema", agent.ANY), params.get("session"), limits)


def build(definition):
    """The agent that a definition describes, with tools and hooks that do as it says."""
    model = None
    if not definition.get("unavailable"):
        model = ChatModel(definition["baseUrl"], definition["model"], definition.get("stream", False))
    helpers = {name: build(d) for name, d in definition.get("subAgents", {}).items()}

    def tool(calls):
        following = in_order(calls)

        async def code(_arguments):
            return await behave(following(), helpers)

        return code

    def invoke_hook(calls):
        following = in_order(calls)
        return lambda _prompt: following().get("abort")

    def prompt_hook(calls):
        following = in_order(calls)

        def code():
            call = following()
            if "raises" in call:
                raise RuntimeError(call["raises"])
            return call["text"]

        return code

    return agent.Agent(
        model,
        {t["name"]: tool(t["calls"]) for t in definition.get("tools", [])},
        [invoke_hook(calls) for calls in definition.get("onInvoke", [])],
        [prompt_hook(calls) for calls in definition.get("systemPrompt", [])],
    )


def in_order(calls):
    """What each call does; the last goes on for ever."""
    waiting = list(calls)
    return lambda: waiting.pop(0) if len(waiting) > 1 else waiting[0]


async def behave(call, helpers):
    """The code of a tool."""
    await asyncio.sleep(call.get("delayMs", 0) / 1000)
    if "raises" in call:
        raise RuntimeError(call["raises"])
    if "returns" in call:
        return call["returns"]
    order = call["invoke"]
    try:
        outcome = await invoke(helpers[order["agent"]], order)
    except Exception:
        if "onException" in order:
            return order["onException"]
        raise
    if isinstance(outcome, agent.Error):
        return order.get("onError", {"error": outcome.message})
    return outcome


METHODS = {"describe": describe, "configure": configure, "agent.run": agent_run, "agent.equal": agent_equal}


async def answer(line):
    """The response to one message."""
    identity = None

    def failure(code, text):
        return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": text}}

    try:
        request = json.loads(line)
    except ValueError as error:
        return failure(-32700, f"not JSON: {error}")
    try:
        identity = request["id"]
        method = METHODS.get(request["method"])
        if method is None:
            return failure(-32601, f"no method {request['method']}")
        return {"jsonrpc": "2.0", "id": identity, "result": await method(request.get("params", {}))}
    except Exception as error:
        traceback.print_exc()
        return failure(-32603, f"{type(error).__name__}: {error}")


async def serve():
    """Answer every line, side by side, until the input ends."""
    loop, lines = asyncio.get_running_loop(), asyncio.Queue()

    def read():
        for line in sys.stdin.buffer:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, None)

    async def reply(line):
        text = json.dumps(await answer(line))
        sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.buffer.flush()

    threading.Thread(target=read, daemon=True).start()
    tasks = set()
    while (line := await lines.get()) is not None:
        task = asyncio.create_task(reply(line))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(serve())
