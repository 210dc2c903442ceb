/** A process with few file descriptors serves beside many half requests, or refuses its start with the figure. */
import { assert, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { connect } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { onTestFinished } from "vitest"
import { eventually } from "../support/eventually.js"
import { makeDataDirectory } from "../support/Service.js"

const bundle = path.join(fileURLToPath(new URL("../..", import.meta.url)), "dist", "svc.js")

/** `svc start` under a limit of open files. */
const startWith = (limit: number) => {
  const { dataDir, remove } = makeDataDirectory()
  const child = spawn("bash", ["-c", `ulimit -n ${limit}; exec "$0" "$1" start`, process.execPath, bundle], {
    cwd: os.tmpdir(),
    env: { PATH: process.env["PATH"], SVC_PORT: "0", SVC_DATA_DIR: dataDir, SVC_RUNNERS: "1" },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text))
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
  onTestFinished(async () => {
    child.kill("SIGTERM")
    await ended
    remove()
  })
  return { ended, output: () => output }
}

it.skipIf(process.platform !== "linux")("256 descriptors serve beside 400 half requests", async () => {
  const service = startWith(256)
  const url = await eventually(
    () => Promise.resolve(/"service\.ready".*"url":"(http:[^"]+)"/.exec(service.output())?.[1]),
    (found) => found !== undefined
  )
  const { hostname, port } = new URL(url ?? "")
  const sockets = Array.from({ length: 400 }, () => {
    const socket = connect(Number(port), hostname)
    socket.on("error", () => undefined)
    socket.write("GET /healthz HTTP/1.1\r\nhost:")
    return socket
  })
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()))
  for (let at = 0; at < 10; at += 1) {
    assert.strictEqual((await fetch(`${url}/healthz`)).status, 200)
    assert.strictEqual((await fetch(`${url}/readyz`)).status, 200)
  }
  assert.notMatch(
    service.output(),
    /EMFILE|"logLevel":"(?:WARN|ERROR|FATAL)","timestamp":"[^"]*","annotations":\{(?!.*jail)/
  )
})

it.skipIf(process.platform !== "linux")("too few descriptors refuse the start, with the figure", async () => {
  const service = startWith(100)
  assert.strictEqual(await service.ended, 1)
  assert.match(
    service.output(),
    /^svc needs \d{3} file descriptors with this configuration, and this process may open 100/m
  )
})
