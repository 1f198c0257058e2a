"""A client for OpenAI-compatible chat completions, plain and streamed, over asyncio."""

import asyncio
import json
from urllib.parse import urlsplit

from agent import ModelFailure


class ChatModel:
    def __init__(self, base_url, name, stream=False):
        self.base_url, self.name, self.stream = base_url.rstrip("/"), name, stream

    async def __call__(self, messages, tools):
        request = {"model": self.name, "messages": messages, "tools": tools, "stream": self.stream}
        try:
            return await self._complete(json.dumps(request).encode())
        except (OSError, EOFError, ValueError, KeyError, IndexError, TypeError) as error:
            # A body that is not what it should be shows in any of these.
            raise ModelFailure(f"{type(error).__name__}: {error}") from error

    async def _complete(self, body):
        url = urlsplit(self.base_url + "/chat/completions")
        reader, writer = await asyncio.open_connection(url.hostname, url.port or 80)
        try:
            head = (
                f"POST {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
            status, chunks = await _response(reader)
            if status != 200:
                raise ModelFailure(f"the endpoint answered {status}: {await _text(chunks)}")
            if self.stream:
                return await _put_together(chunks)
            message = json.loads(await _text(chunks))["choices"][0]["message"]
            return _message(message["content"] or "", message.get("tool_calls") or [])
        finally:
            writer.close()


async def _response(reader):
    """The status, and the body as it comes."""
    status = int((await reader.readuntil(b"\r\n")).split()[1])
    headers = {}
    while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return status, _chunked(reader)
    return status, _sized(reader, int(headers["content-length"]))


async def _sized(reader, size):
    yield await reader.readexactly(size)


async def _chunked(reader):
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        yield await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")


async def _text(chunks):
    return b"".join([chunk async for chunk in chunks]).decode()


async def _events(chunks):
    """The data of server-sent events, up to [DONE]."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                data = line[5:].strip()
                if data == b"[DONE]":
                    return
                yield json.loads(data)
    raise EOFError("the stream ended before [DONE]")


async def _put_together(chunks):
    text, calls, begun = [], [], False
    async for event in _events(chunks):
        for choice in event["choices"]:
            delta, begun = choice["delta"], True
            text.append(delta.get("content") or "")
            for part in delta.get("tool_calls") or []:
                if part["index"] == len(calls):
                    function = {"name": part["function"]["name"], "arguments": []}
                    calls.append({"id": part["id"], "type": "function", "function": function})
                calls[part["index"]]["function"]["arguments"].append(part["function"].get("arguments") or "")
    if not begun:
        raise EOFError("the stream had no message")
    for call in calls:
        call["function"]["arguments"] = "".join(call["function"]["arguments"])
    return _message("".join(text), calls)


def _message(text, calls):
    message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = calls
    return message
