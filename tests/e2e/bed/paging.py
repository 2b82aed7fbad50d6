"""Pages as AWS makes them: moto ignores DescribeSubnets' and takes any token for DescribeAutoScalingGroups'."""

from __future__ import annotations

import re
import secrets
import xml.etree.ElementTree as ElementTree
from urllib.parse import parse_qsl, urlencode

from bed.lists import ListPager, PagingError
from bed.shapes import Call

ASG_TOKEN = re.compile(rb"<NextToken>([^<]*)</NextToken>")


class Pager:
    """`caps` lowers the size of a page below what was asked for, which AWS may do at any time."""

    def __init__(self) -> None:
        self.caps: dict[str, int] = {}
        self._lists = ListPager(self.caps)
        self._groups: dict[str, str] = {}  # our token -> moto's
        self._subnets: dict[str, list[ElementTree.Element]] = {}

    def clear(self) -> None:
        self.caps.clear()
        self._lists.clear()
        self._groups.clear()
        self._subnets.clear()

    def rewrite(self, call: Call, body: bytes) -> bytes:
        """The body as moto is to get it."""
        self._lists.check(call)
        if call.name == "autoscaling:DescribeAutoScalingGroups":
            return self._rewrite_groups(call, body)
        if call.name == "ec2:DescribeSubnets":
            return _form(body, MaxResults=None, NextToken=None)
        return body

    def _rewrite_groups(self, call: Call, body: bytes) -> bytes:
        size = call.params.get("MaxRecords", 50)
        names = call.params.get("AutoScalingGroupNames", [])
        if not 1 <= size <= 100:
            raise PagingError("ValidationError", f"MaxRecords {size} is not between 1 and 100")
        if len(names) > max(50, size):
            raise PagingError("ValidationError", f"{len(names)} names are more than MaxRecords {size}")
        token = call.params.get("NextToken")
        if token is not None and token not in self._groups:
            raise PagingError("InvalidNextToken", "the token is not one that was given out")
        cap = self.caps.get(call.name, 100)
        return _form(body, MaxRecords=str(min(size, cap)), NextToken=self._groups.get(token or ""))

    def answer(self, call: Call, body: bytes) -> bytes:
        """moto's answer, cut into pages."""
        if call.name == "autoscaling:DescribeAutoScalingGroups":
            return ASG_TOKEN.sub(self._mask_group_token, body)
        if call.name == "ec2:DescribeSubnets":
            return self._page_subnets(call, body)
        return self._lists.answer(call, body)

    def _mask_group_token(self, match: re.Match[bytes]) -> bytes:
        token = secrets.token_urlsafe(60) + "=="
        self._groups[token] = match[1].decode().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        return b"<NextToken>" + token.encode() + b"</NextToken>"

    def _page_subnets(self, call: Call, body: bytes) -> bytes:
        size = min(call.params.get("MaxResults", 1000), self.caps.get(call.name, 1000))
        token = call.params.get("NextToken")
        root = ElementTree.fromstring(body)
        namespace = root.tag.partition("}")[0].lstrip("{")
        ElementTree.register_namespace("", namespace)
        listing = root.find(f"{{{namespace}}}subnetSet")
        if listing is None:
            return body
        if token is not None and token not in self._subnets:
            raise PagingError("InvalidParameterValue", "the token is not one that was given out")
        items = self._subnets[token] if token else list(listing)
        if token is None and len(items) <= size:
            return body
        for item in list(listing):
            listing.remove(item)
        listing.extend(items[:size])
        if items[size:]:
            fresh = secrets.token_urlsafe(60) + "="
            self._subnets[fresh] = items[size:]
            ElementTree.SubElement(root, f"{{{namespace}}}nextToken").text = fresh
        return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def _form(body: bytes, **changes: str | None) -> bytes:
    """The form with these parameters replaced, or (None) left out."""
    pairs = [(key, value) for key, value in parse_qsl(body.decode(), keep_blank_values=True) if key not in changes]
    pairs += [(key, value) for key, value in changes.items() if value is not None]
    return urlencode(pairs).encode()
