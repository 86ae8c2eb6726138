"""The files of docs/how-to/internet, tried on this machine: a proxy that speaks HTTPS before a hall."""

import asyncio
import json
import os
import shutil
import subprocess
from contextlib import asynccontextmanager, suppress

import httpx
import pytest
from driving import free_port, serving
from patience import LONG
from patience import run as run_command

from agon import ROOT

FILES = ROOT / "docs/how-to/internet"
NAME, PASSWORD = "agon.example.org", "open-sesame-of-these-tests"
WRAP = "pid {0}/pid; error_log {0}/log; daemon off; events {{}} http {{ access_log off; {1} }}"


def nginx(folder, port, hall):
    """nginx with the site as it is shipped, but for ports and certificate."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={NAME}", "-days", "1"]
    run_command([*new, "-keyout", key, "-out", certificate]).check_returncode()
    site = (FILES / "nginx.conf").read_text()
    letsencrypt = f"/etc/letsencrypt/live/{NAME}"
    for old, now in {
        "listen 80;": f"listen 127.0.0.1:{free_port()};",
        "listen 443 ": f"listen 127.0.0.1:{port} ",
        "127.0.0.1:8642": f"127.0.0.1:{hall}",
        f"{letsencrypt}/fullchain.pem": f"{certificate}",
        f"{letsencrypt}/privkey.pem": f"{key}",
    }.items():
        assert old in site
        site = site.replace(old, now)
    (folder / "nginx.conf").write_text(WRAP.format(folder, site))
    return ["nginx", "-c", folder / "nginx.conf"], {}


def caddy(folder, port, hall):
    """Caddy with the file as it is shipped, but for ports, and with a certificate of its own."""
    site = (FILES / "Caddyfile").read_text()
    assert "127.0.0.1:8642" in site
    ports = f"https_port {port}\nhttp_port {free_port()}"
    local = f"{{\n{ports}\nadmin off\nlocal_certs\nskip_install_trust\n}}\n"
    (folder / "Caddyfile").write_text(local + site.replace("127.0.0.1:8642", f"127.0.0.1:{hall}"))
    place = {"AGON_HOST": NAME, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    return ["caddy", "run", "--config", folder / "Caddyfile", "--adapter", "caddyfile"], place


@asynccontextmanager
async def proxied(kind, folder, hall):
    """A client that reaches the hall's port only through a proxy."""
    port = free_port()
    command, place = kind(folder, port, hall)
    with subprocess.Popen(command, env=os.environ | place, stderr=(folder / "stderr").open("wb")) as process:
        sni = {"sni_hostname": NAME}

        async def pass_on(request):
            request.extensions |= sni

        client = httpx.AsyncClient(
            base_url=f"https://127.0.0.1:{port}",
            headers={"Host": NAME, "Origin": f"https://{NAME}"},
            verify=False,
            timeout=LONG,
            event_hooks={"request": [pass_on]},
        )

        try:
            async with client:
                async with asyncio.timeout(LONG):
                    while not await answers(client):
                        assert process.poll() is None, (folder / "stderr").read_text()
                        await asyncio.sleep(0.1)
                yield client
        finally:
            process.terminate()
            process.wait(LONG)


async def answers(client):
    """Whether a proxy listens, and has its certificate."""
    with suppress(httpx.ConnectError):
        return (await client.get("/")).status_code < 500
    return False


@pytest.mark.parametrize("kind", [nginx, caddy], ids=["nginx", "caddy"])
def test_a_hall_behind_a_proxy_that_speaks_https(kind, tmp_path, short):
    if not shutil.which(kind.__name__):
        pytest.skip(f"{kind.__name__} is not installed")

    async def check():
        async with (
            serving(tmp_path, hosts=[NAME], password=PASSWORD, proxy=True) as (place, link, _, port),
            proxied(kind, tmp_path, port) as client,
        ):
            assert (await client.get("/")).headers["location"] == "/login?next=/"
            entered = await client.post("/login?next=/", data={"password": PASSWORD})
            assert entered.status_code == 303 and "Secure" in entered.headers["set-cookie"]
            assert (await client.get("/")).status_code == 200
            stranger = {"Origin": "https://elsewhere.example"}
            assert (await client.post("/login", data={"password": PASSWORD}, headers=stranger)).status_code == 403
            place.sit(0, "Ada")
            events = link.replace("?", "/~events?") + "&seen="
            async with client.stream("GET", events) as reply:
                lines = reply.aiter_lines()
                assert await told(lines), "the page as it is comes at once"
                for seat in list(place.questions):
                    place.answer(seat, place.questions[seat].number, ["cooperation"])
                assert await told(lines), "what happened comes while the stream is open"

    asyncio.run(asyncio.wait_for(check(), LONG))


async def told(lines):
    """The parts that a stream of events names next."""
    async for line in lines:
        if line.startswith("data: {"):
            return json.loads(line.removeprefix("data: "))["parts"]
    return None
