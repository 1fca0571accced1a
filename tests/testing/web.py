"""Plain HTTP to talk to a server byte by byte."""

from __future__ import annotations

import base64
import http.client
import json
import socket

CUP = "cup for women, one product only, no people"


class Http:
    """One connection to a server."""

    def __init__(self, server):
        host, port = server.root.removeprefix("http://").split(":")
        self.address = (host, int(port))
        self.connection = http.client.HTTPConnection(host, int(port), timeout=600)

    def ask(self, method, path, body=None, **headers):
        data = None if body is None else json.dumps(body)
        self.connection.request(method, path, data, {"Content-Type": "application/json", **headers})
        answer = self.connection.getresponse()
        return answer, answer.read()

    def chat(self, picture=None, schema=None, model="judge", **more):
        content = [{"type": "text", "text": "What is seen?"}]
        if picture is not None:
            url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
            content.append({"type": "image_url", "image_url": {"url": url}})
        body = {"model": model, "messages": [{"role": "user", "content": content}], **more}
        if schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
        answer, data = self.ask("POST", "/v1/chat/completions", body)
        return answer.status, json.loads(data)

    def images(self, prompt=CUP, model="painter", **more):
        answer, data = self.ask("POST", "/v1/images/generations", {"model": model, "prompt": prompt, **more})
        return answer.status, json.loads(data)

    def raw(self, data):
        """Send bytes and return all that comes back before the server closes."""
        with socket.create_connection(self.address, timeout=600) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
        return b"".join(parts)


def pictures_of(body):
    return [base64.b64decode(slot["b64_json"]) for slot in body["data"]]


def said(body):
    return json.loads(body["choices"][0]["message"]["content"])


def closed(**attributes):
    parts = {
        name: {"type": "string", **({"enum": list(values)} if values else {})}
        for name, values in attributes.items()
    }
    return {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}
