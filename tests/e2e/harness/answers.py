"""What a server answered to a case, in a form that can be compared."""

import json

from harness.cases import Case
from harness.server import Server
from harness.shapes import shape_of
from harness.sse import Stream


class Answer:
    def __init__(self, status: int, content_type: str, values: list, frames: list[str]):
        self.status = status
        self.content_type = content_type
        self.values = values  # the JSON body, or the events of a stream
        self.frames = frames  # what a stream said besides events: [DONE]

    def shape(self) -> dict:
        """An error's shape is its status and type: its sentence is our own."""
        return {
            "status": self.status,
            "content-type": self.content_type,
            "body": shape_of(self.values),
            "other": self.frames,
        }


def is_stream(case: Case) -> bool:
    return isinstance(case.body, dict) and case.body.get("stream") is True


def ask(server: Server, case: Case) -> Answer:
    if is_stream(case):
        stream = Stream(server.port, case.path, case.body).wait_end()
        if stream.headers.get("content-type", "").startswith("text/event-stream"):
            others = [data for data in stream.data() if data == "[DONE]"]
            return Answer(stream.status, stream.headers["content-type"], stream.events(), others)
        return Answer(stream.status, stream.headers["content-type"], [json.loads(stream.body)], [])
    reply = server.request(case.method, case.path, case.body, case.headers)
    return Answer(reply.status, reply.headers.get("content-type", ""), [reply.json()], [])
