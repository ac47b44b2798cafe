"""The three clients that are compared, all of the same server."""

import contextlib
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
from kubernetes_asyncio.client import ApiClient, Configuration

from shared_api.kube.client import Client
from tests.faults.clients import write_kubeconfig


@contextlib.asynccontextmanager
async def ours(url: str) -> AsyncGenerator[Client, None]:
    """The client of this product."""
    with tempfile.TemporaryDirectory() as directory:
        path = write_kubeconfig(Path(directory), url)
        async with Client.from_kubeconfig(path, observe=lambda *_: None) as client:
            yield client


@contextlib.asynccontextmanager
async def bare() -> AsyncGenerator[aiohttp.ClientSession, None]:
    """aiohttp and nothing else, as fast as it goes."""
    async with aiohttp.ClientSession(
        headers={"Authorization": "Bearer secret"}, connector=aiohttp.TCPConnector(limit=0)
    ) as session:
        yield session


@contextlib.asynccontextmanager
async def library(url: str) -> AsyncGenerator[ApiClient, None]:
    """kubernetes_asyncio, as its documentation uses it."""
    configuration = Configuration(host=url)
    configuration.api_key["BearerToken"] = "Bearer secret"
    async with ApiClient(configuration) as client:
        yield client
