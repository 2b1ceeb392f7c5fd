#!/usr/bin/env python3
"""A console client for Python 3.9: prints the output of a game server, and sends each line of its input as a command.

It ends when its input has ended and each command is answered. It needs the package websockets: apt install
python3-websockets, or pip install websockets.

    HOSTING_API_KEY=hk_... API_URL=https://api.example.com python3 console.py SERVER
"""

import asyncio
import itertools
import json
import os
import random
import re
import sys
import threading
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import websockets

server = sys.argv[1] if len(sys.argv) > 1 else "demo"
base = os.environ.get("API_URL", "http://localhost:3000")
key = os.environ.get("HOSTING_API_KEY") or sys.exit("Set the environment variable HOSTING_API_KEY to your key, hk_...")

# Close codes after which a retry is pointless.
FINAL_CODES = (1002, 1007, 1008, 1009, 4003)
references = (f"command {number}" for number in itertools.count(1))


# Control characters and changes of the text direction, except colours: lines contain text typed by players.
ACTING = re.compile(r"\x1b\[[\d;]*m|[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def escape(text):
    return ACTING.sub(lambda found: found[0] if len(found[0]) > 1 else f"\\u{ord(found[0]):04x}", str(text))


def note(text):
    print("--", escape(text), file=sys.stderr, flush=True)


def fetch_access():
    """Fetches the address of the stream and a short-lived token. The API key is never sent to the stream."""
    url = f"{base}/v1/hosting/game/console/{quote(server, safe='')}/websocket"
    try:
        with urlopen(Request(url, headers={"Authorization": f"Bearer {key}"}), timeout=30) as answer:
            return json.load(answer)["websocket"]
    except HTTPError as error:
        text = f"{error.code}: {error.read().decode(errors='replace').strip()}"
        is_temporary = error.code >= 500 or error.code == 429
        raise (OSError(text) if is_temporary else SystemExit(f"-- {text}")) from None


async def send(stream, event, *args):
    await stream.send(json.dumps({"event": event, "args": args}))


async def renew(stream):
    try:
        await send(stream, "auth", (await asyncio.to_thread(fetch_access))["token"])
    except (OSError, ValueError, websockets.WebSocketException) as error:
        note(error)


async def send_commands(stream, lines, answers):
    """Sends one command at a time, in input order; closes the stream at the end of the input."""
    while (line := await lines.get()) is not None:
        code = "rate_limited"
        try:
            while code == "rate_limited":
                reference = next(references)
                answers[reference] = asyncio.get_running_loop().create_future()
                await send(stream, "send command", line, reference)
                code = await answers[reference]
                await asyncio.sleep(1 if code == "rate_limited" else 0)
        finally:
            if code == "rate_limited":
                # The connection was lost. Do not resend the command: it may have run.
                note(f"no answer to: {line}")
            elif code != "accepted":
                note(f"refused ({code}): {line}")
    lines.put_nowait(None)
    # Output of the last command may arrive a little later.
    await asyncio.sleep(1)
    await stream.close()


async def follow(lines, was_open):
    """Follows the console until the connection closes. Returns the close code, and whether the stream was open."""
    access = await asyncio.to_thread(fetch_access)
    answers, sender, renewal = {}, None, None
    try:
        async with websockets.connect(access["socket_url"]) as stream:
            await send(stream, "auth", access["token"])
            async for message in stream:
                event, args = (json.loads(message)[name] for name in ("event", "args"))
                if event == "console output":
                    print(escape(args[0]), flush=True)
                elif event == "auth success":
                    if sender is None:
                        if was_open:
                            note("connected again: lines may be missing here")
                        else:
                            await send(stream, "send logs")
                        sender = asyncio.create_task(send_commands(stream, lines, answers))
                elif event in ("token expiring", "token expired"):
                    renewal = asyncio.create_task(renew(stream))
                elif event in ("command accepted", "command refused"):
                    answers.pop(args[0]).set_result((args + ["accepted"])[1])
                elif event != "logs end":
                    note(": ".join([event, *args]))
            code, reason = 1000, ""
    except websockets.ConnectionClosed as error:
        code, reason = (error.rcvd.code, error.rcvd.reason) if error.rcvd else (1006, "")
    finally:
        for task in filter(None, (sender, renewal)):
            task.cancel()
    note(f"closed: {code} {reason}")
    return code, sender is not None


async def main():
    loop, lines = asyncio.get_running_loop(), asyncio.Queue()

    def read_input():
        with open(0, encoding="utf-8", errors="replace", closefd=False) as source:
            for line in source:
                loop.call_soon_threadsafe(lines.put_nowait, line.rstrip("\n"))
        loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read_input, daemon=True).start()
    failures, was_open = 0, False
    while True:
        code, is_open = None, False
        try:
            code, is_open = await follow(lines, was_open)
        except (OSError, ValueError, asyncio.TimeoutError, websockets.WebSocketException) as error:
            note(error)
        if code == 1000:
            return
        if code in FINAL_CODES:
            sys.exit("-- this does not change by itself")
        was_open = was_open or is_open
        failures = 6 if code == 1013 else 1 if is_open else failures + 1
        await asyncio.sleep(min(30, 0.5 * 2**failures) * random.uniform(0.5, 1))


try:
    asyncio.run(main())
except KeyboardInterrupt:
    sys.exit(130)
